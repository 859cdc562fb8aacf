/* Reads texts for the page that diagnoses: in a worker, or, where a page opened from disk may have none, in the page.
   What the words of a description take beside is loaded when a text first has such words. */
(() => {
  "use strict";
  const distkb = window.distkb, SLICE = 30;

  /* Return what reads: `spoken` are the addresses of the scripts that a description takes, the index first, and `runs`
     is that of what a log is compared with. */
  distkb.reader = (spoken, runs) => {
    const printed = distkb.reading(distkb.diagnosePatterns);
    let running = 0, hearing = null;

    /* Do long work in slices, so that a newer text ends the reading of an older one, and a page goes on. */
    function slices(work, number) {
      return new Promise((done, failed) => {
        const go = () => {
          if (number !== running) return;
          try {
            const until = performance.now() + SLICE;
            let step = work.next();
            while (!step.done && performance.now() < until) step = work.next();
            if (step.done) done(step.value);
            else setTimeout(go, 0);
          } catch (error) {
            failed(error);
          }
        };
        go();
      });
    }

    function spokenToo() {
      hearing = hearing || Promise.all(spoken.map(distkb.text.load)).then(() => ({
        reading: distkb.reading(distkb.withSaid(distkb.diagnosePatterns, distkb.diagnoseSaid)),
        wording: distkb.wording(distkb.diagnoseWording, distkb.text.open(/^\S*\//.exec(spoken[0])[0]))
      }));
      hearing.catch(() => { hearing = null; });
      return hearing;
    }

    /* What a text shows; the words of a log alone describe nothing, unless it is to be read as a report. */
    return async (text, asReport) => {
      const number = ++running, asks = text.trim() && (asReport || await slices(printed.asks(text), number));
      const heard = asks ? await spokenToo() : null;
      const read = await slices((heard ? heard.reading : printed).read(text), number);
      const unexplained = heard ? null : read.unexplained;
      let affinity = heard ? await heard.wording(read.telling, read.own) : {};
      if (unexplained) {
        const telling = distkb.finish(printed.read(unexplained.text)).telling;
        affinity = await (await spokenToo()).wording.ofError(telling, unexplained.text);
      }
      let likeness = {};
      if (!heard && text.trim()) {
        const { wording } = await spokenToo();
        await distkb.text.load(runs);
        likeness = await wording.ofRun(text, read.named, distkb.diagnoseRuns);
      }
      const lanes = distkb.lanes(text, read.observations);
      const { observations, holdsOutput } = read;
      return { observations, affinity, likeness, unexplained, logCoverage: 0, holdsOutput, lanes };
    };
  };

  if (window.document) return;
  let read = null;
  self.onmessage = ({ data }) => {
    read = read || distkb.reader(data.spoken, data.runs);
    read(data.text, data.asReport).then(evidence => self.postMessage({ number: data.number, evidence }),
      error => self.postMessage({ number: data.number, error: String(error) }));
  };
})();
