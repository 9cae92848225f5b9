// Browsers refuse workers to pages that were opened from a folder: there the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.early = [] // what was said before the frame was there
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = `<!doctype html><script src="${new URL(url, document.baseURI)}"></script>`
      this.frame.addEventListener("load", () => this.open(), { once: true })
      document.body.append(this.frame)
    }

    open() {
      this.inside = this.frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.early.splice(0).forEach(data => this.postMessage(data))
    }

    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }))
      else this.early.push(data)
    }

    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
