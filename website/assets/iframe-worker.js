/* The search runs in a worker, which browsers refuse to pages that are opened from disk: there a hidden frame takes its place. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.documentElement.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.answer(data);
      const script = this.frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      this.frame.contentDocument.body.append(script);
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      if (!this.ready) return void this.waiting.push(data);
      const inner = this.frame.contentWindow;
      const event = new inner.MessageEvent("message", { data });
      inner.dispatchEvent(event);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
