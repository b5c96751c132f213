"""Methods for judges: cheap, repeatable, and wrong together with their relatives."""
