/* Runs distkb in the browser, in a worker: Python starts once, then each message is one call. Nothing is fetched: every
   file comes with the first message. */
"use strict";
(() => {
  const ROOT = "/distkb", GIVEN = "/given", FILES = new Map();
  let python = null, session = null;

  const address = name => URL.createObjectURL(new Blob([FILES.get(name)], { type: "text/javascript" }));

  /* What Pyodide would fetch is here already; anything else stays where it is. */
  self.fetch = async asked => {
    const name = String(asked).split("/").pop();
    if (!FILES.has(name)) throw new TypeError(`not fetched: ${asked}`);
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return new Response(FILES.get(name), { headers: { "Content-Type": type } });
  };

  async function unpacked(text) {
    const packed = atob(text), bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  async function open(files, lang) {
    for (const [name, text] of Object.entries(files)) FILES.set(name, await unpacked(text));
    const { loadPyodide } = await import(address("pyodide.mjs"));
    const { default: createPyodideModule } = await import(address("pyodide.asm.mjs"));
    const lockFileContents = JSON.parse(new TextDecoder().decode(FILES.get("lock.json")));
    python = await loadPyodide({ indexURL: "https://distkb.invalid/", createPyodideModule, lockFileContents });
    python.unpackArchive(FILES.get("distkb.tar"), "xztar", { extractDir: ROOT });
    FILES.clear();
    python.FS.mkdir(GIVEN);
    unreadable(python.FS);
    python.runPython(`import sys; sys.path.insert(0, "${ROOT}")`);
    session = python.runPython("from distkb.browser.session import PageSession; PageSession")(ROOT, lang);
    return session.words();
  }

  /* A file that changed after it was given can no longer be read: an error of that file, and not of Python. */
  function unreadable(FS) {
    const operations = FS.filesystems.WORKERFS.stream_ops, plain = operations.read, EIO = 29;
    operations.read = (...values) => {
      try { return plain(...values); } catch (error) { throw new FS.ErrnoError(EIO); }
    };
  }

  /* A name that no other file has. */
  function free(name, blobs) {
    const taken = new Set(blobs.map(one => one.name)), [stem, suffix] = name.split(".");
    for (let n = 2; taken.has(name); n++) name = `${stem}-${n}.${suffix}`;
    return name;
  }

  /* Files lie in a folder of their own, and are read where the browser holds them; a pasted log is one of them. */
  function read({ text, files, label, step }) {
    const blobs = files.map(([name, data]) => ({ name, data }));
    if (text && session.is_log(text)) {
      blobs.push({ name: free("pasted.log", blobs), data: new Blob([text]) });
      text = "";
    }
    const { FS } = python, names = [...new Set(blobs.map(one => one.name.split("/")[0]))].sort();
    FS.chdir("/");
    FS.mount(FS.filesystems.WORKERFS, { blobs }, GIVEN);
    for (const { name, data } of blobs) {  // of two dumps of a rank the newer one counts
      if (data.lastModified) FS.utime(`${GIVEN}/${name}`, data.lastModified, data.lastModified);
    }
    try {
      return session.read(JSON.stringify({ text, names, label, step }), GIVEN);
    } finally {
      FS.chdir("/");
      FS.unmount(GIVEN);
    }
  }

  const calls = { open: ({ files, lang }) => open(files, lang), read, show: ({ events }) => session.show(events), warm: () => session.warm() };

  self.onmessage = async ({ data }) => {
    try {
      self.postMessage({ number: data.number, answer: await calls[data.call](data) });
    } catch (error) {
      const said = String(error.message || error).trim().split("\n").pop();
      self.postMessage({ number: data.number, error: said, fatal: Boolean(error.pyodide_fatal_error) });
    }
  };
})();
