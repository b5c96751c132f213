"""Makes so many users with tokens in Label Studio's own database; runs in Label Studio's own environment."""

import os
import sys
from importlib.util import find_spec

sys.path.insert(0, os.path.dirname(find_spec("label_studio").origin))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "label_studio.core.settings.label_studio")

from django.core.wsgi import get_wsgi_application

get_wsgi_application()

from organizations.models import Organization  # noqa: E402
from rest_framework.authtoken.models import Token  # noqa: E402
from users.models import User  # noqa: E402

company = Organization.objects.first()
company.jwt.legacy_api_tokens_enabled = True
company.jwt.save()
for number in range(int(sys.argv[1])):
    user = User(email=f"w{number}@example.org", username=f"w{number}")
    user.set_unusable_password()
    user.save()
    company.add_user(user)
    user.active_organization = company
    user.save()
    print("TOKEN", Token.objects.get_or_create(user=user)[0].key)
