/*
 * The sizing advisor's arithmetic and sentences: the same as assistant/distkb/sizing and report/sizing.py, which say
 * why; the tests hold both to the same answers. Constants and sentences come from there, as `distkb.sizingData`.
 */
var distkb = window.distkb || {};
distkb.sizing = (() => {
  "use strict";
  const data = distkb.sizingData;
  const GIB = 2 ** 30;
  const SHAPE = [
    "layers", "hidden", "heads", "kvHeads", "headDim", "intermediate", "vocab", "gated", "tied", "positions",
    "attentionBias", "source",
  ];

  /* A problem with one field: the key of a sentence below `advise.`, with its values. */
  class Problem extends Error {
    constructor(sentence, values = {}, field = "model") {
      super(sentence);
      Object.assign(this, { sentence, values, field });
    }
  }

  const up = (count, by) => Math.ceil(count / by);
  const sum = (list, size) => list.reduce((total, one) => total + size(one), 0);

  /* Round as Python does: halves to the even neighbour. */
  function round(value) {
    const below = Math.floor(value), rest = value - below;
    if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
    return below % 2 ? below + 1 : below;
  }

  /* Shapes */

  function shaped(fields) {
    return Object.fromEntries(SHAPE.map((name, at) => [name, fields[at]]));
  }

  /* Rows, columns and whether there is a bias, of every matrix of one layer. */
  function matrices(shape) {
    const attention = shape.heads * shape.headDim, kv = shape.kvHeads * shape.headDim;
    const some = !shape.gated || shape.attentionBias, all = !shape.gated;
    const out = [
      [attention, shape.hidden, some], [kv, shape.hidden, some], [kv, shape.hidden, some],
      [shape.hidden, attention, all], [shape.intermediate, shape.hidden, all], [shape.hidden, shape.intermediate, all],
    ];
    if (shape.gated) out.push([shape.intermediate, shape.hidden, false]);
    return out;
  }

  function parameters(shape) {
    const each = sum(matrices(shape), ([rows, columns, bias]) => rows * columns + (bias ? rows : 0));
    const layer = each + (shape.gated ? 2 : 4) * shape.hidden;
    const words = shape.vocab * shape.hidden * (shape.tied ? 1 : 2);
    return words + shape.positions * shape.hidden + shape.hidden * (shape.gated ? 1 : 2) + shape.layers * layer;
  }

  function least(list, key) {
    return list.reduce((best, one) => (key(one) < key(best) ? one : best));
  }

  function typical(count) {
    if (!(count >= 2e7 && count <= 1e13)) throw new Problem("error.parameters");
    const near = least(data.typical.map(shaped), (shape) => Math.abs(Math.log(parameters(shape) / count)));
    const ratio = count / parameters(near);
    if (Math.abs(ratio - 1) < 0.005) return near;
    const fixed = { ...near, layers: Math.max(2, round(near.layers * ratio ** (1 / 3))) };
    const widths = [];
    for (let width = data.multiple; width <= near.hidden * 4; width += data.multiple) widths.push(wide(fixed, width));
    return filled(least(widths, (shape) => Math.abs(parameters(shape) - count)), count);
  }

  function wide(shape, hidden) {
    const groups = Math.max(1, Math.floor(shape.heads / shape.kvHeads)), step = data.multiple;
    const heads = groups * Math.max(1, round(hidden / shape.headDim / groups));
    const inner = Math.max(step, round((hidden * shape.intermediate) / shape.hidden / step) * step);
    return { ...shape, hidden, heads, kvHeads: Math.floor(heads / groups), intermediate: inner };
  }

  function filled(shape, count) {
    const step = shape.layers * (shape.gated ? 3 : 2) * shape.hidden;
    const width = shape.intermediate + round((count - parameters(shape)) / step / 8) * 8;
    return { ...shape, intermediate: Math.max(shape.hidden, width) };
  }

  function fromConfig(config) {
    const inner = config.text_config;
    const document = inner && typeof inner === "object" && !Array.isArray(inner) ? { ...config, ...inner } : config;
    for (const key of data.experts) {
      if (Number.isInteger(document[key]) && document[key] > 1) throw new Problem("error.experts", { key });
    }
    const given = (name) => dimension(document, name);
    for (const name of ["layers", "hidden", "heads"]) {
      if (!given(name)) throw new Problem("error.config-key", { key: data.configKeys[name][0] });
    }
    const kind = document.model_type, gated = !("n_embd" in document) && !data.ungated.includes(kind);
    if (!given("vocab")) throw new Problem("error.config-key", { key: "vocab_size" });
    const hidden = given("hidden"), heads = given("heads");
    const tied = "tie_word_embeddings" in document ? document.tie_word_embeddings === true : !gated;
    return {
      layers: given("layers"), hidden, heads, kvHeads: given("kv_heads") || heads,
      headDim: given("head_dim") || Math.max(1, Math.floor(hidden / heads)),
      intermediate: given("intermediate") || 4 * hidden, vocab: given("vocab"), gated, tied,
      positions: gated ? 0 : given("positions"), attentionBias: document.attention_bias === true || kind === "qwen2",
      source: "config",
    };
  }

  function dimension(document, name) {
    const known = (key) => Number.isInteger(document[key]) && document[key] > 0 && document[key] < 1e9;
    const key = data.configKeys[name].find(known);
    return key ? document[key] : 0;
  }

  /*
   * A model's parameters as [rows, columns, bytes of an element, whether it is trained]: those of the root, and those
   * of one layer, which all layers have.
   */
  function listed(shape, run) {
    const item = run.precision === "pure-bf16" || run.lora > 0 ? 2 : 4, train = !run.lora;
    const layer = [];
    for (const [rows, columns, bias] of matrices(shape)) {
      layer.push([rows, columns, item, train]);
      if (bias) layer.push([rows, 1, item, train]);
      if (run.lora) layer.push([run.lora, columns, 4, true], [rows, run.lora, 4, true]);
    }
    for (let left = shape.gated ? 2 : 4; left; left -= 1) layer.push([shape.hidden, 1, item, train]);
    const root = [[shape.vocab, shape.hidden, item, train]];
    if (shape.positions) root.push([shape.positions, shape.hidden, item, train]);
    for (let left = shape.gated ? 1 : 2; left; left -= 1) root.push([shape.hidden, 1, item, train]);
    if (!shape.tied) root.push([shape.vocab, shape.hidden, item, train]);
    return { root, layer, layers: shape.layers };
  }

  const numel = (param) => param[0] * param[1];
  const bytes = (param) => param[0] * param[1] * param[2];
  const trained = (params) => params.filter((param) => param[3]);

  /* Add up something over all parameters of a model. */
  function total(plan, size) {
    return sum(plan.root, size) + plan.layers * sum(plan.layer, size);
  }

  const trainedTotal = (plan, size) => total(plan, (param) => (param[3] ? size(param) : 0));

  /* What each way of sharding holds */

  const low = (run) => run.precision !== "fp32";

  function fsdp2(plan, shape, run, shards, reshard) {
    const kept = data.states[run.optimizer];
    const stored = (param) => up(param[0], shards) * param[1] * param[2];
    const own = (param) => Math.min(up(param[0], shards), param[0]) * param[1] * param[2] * kept;
    return {
      params: total(plan, stored), grads: trainedTotal(plan, stored), optimizer: trainedTotal(plan, own),
      ...moments(plan, shape, run, true, reshard),
    };
  }

  function fsdp1(plan, shape, run, shards, reshard) {
    const held = { params: 0, grads: 0, optimizer: 0, ...moments(plan, shape, run, false, reshard) };
    for (const [unit, times] of [[plan.root, 1], [plan.layer, plan.layers]]) {
      for (const item of [2, 4]) {
        const same = unit.filter((param) => param[2] === item);
        if (!same.length) continue;
        const local = flat(same, shards, low(run) ? 2 : item) * item;
        const some = sum(trained(same), bytes);
        held.params += times * local;
        if (!some) continue;
        held.grads += times * local;
        held.optimizer += times * Math.min(local, some) * data.states[run.optimizer];
      }
    }
    return held;
  }

  function flat(params, shards, width) {
    const step = Math.max(1, Math.floor(16 / width));
    return up(params.reduce((at, param) => up(at, step) * step + numel(param), 0), shards);
  }

  function ddp(plan, run) {
    const grads = trainedTotal(plan, bytes);
    const copies = low(run) ? total(plan, (param) => (param[2] > 2 ? 2 * numel(param) : 0)) : 0;
    return {
      params: total(plan, bytes), grads, optimizer: grads * data.states[run.optimizer],
      through: (run.gpus > 1 ? grads : 0) + copies, passing: 0, ending: 0,
    };
  }

  function zero(plan, run, stage) {
    const ranks = run.gpus, width = (param) => (low(run) ? 2 : param[2]);
    const wide = (param) => numel(param) * width(param), share = (param) => up(numel(param), ranks);
    const count = trainedTotal(plan, numel), whole = total(plan, wide), grads = trainedTotal(plan, wide);
    const widest = Math.max(0, ...trained([...plan.root, ...plan.layer]).map(width));
    const part = stage === 3 ? trainedTotal(plan, share) : up(count, 2 * ranks) * 2;
    const master = stage === 3 && widest === 4 ? 0 : 4;
    const live = stage === 3 ? Math.min(whole, data.liveParameters * (low(run) ? 2 : widest)) : 0;
    return {
      params: stage === 3 ? total(plan, (param) => share(param) * width(param)) : whole,
      grads: stage === 1 ? grads : part * widest,
      optimizer: part * (master + 4 * data.states[run.optimizer]),
      through: Math.max(live + Math.min(count, data.bucket) * widest, 4 * part), passing: 0, ending: 0,
    };
  }

  /* What FSDP adds all through forward and backward (the root, or everything), in a layer's backward, at its end. */
  function moments(plan, shape, run, second, reshard) {
    const width = (param) => (low(run) ? 2 : param[2]);
    const gathered = (unit) => sum(unit, (param) => numel(param) * width(param));
    const reduced = (unit) => {
      const some = trained(unit);
      return some.length ? sum(second ? some : unit, (param) => numel(param) * width(param) * (second ? 2 : 1)) : 0;
    };
    const layer = gathered(plan.layer), through = gathered(plan.root) + (reshard ? 0 : plan.layers * layer);
    const output = run.lora ? 0 : shape.vocab * shape.hidden * width(plan.root[0]);
    return {
      through, passing: (reshard ? Math.min(2, plan.layers) * layer : 0) + reduced(plan.layer) + output,
      ending: through + reduced(plan.root),
    };
  }

  function table(plan, shape, run) {
    const ranks = run.gpus, node = run.perNode, hybrid = node > 1 && node < ranks && ranks % node === 0;
    const out = [["ddp", ddp(plan, run)]];
    for (const stage of [1, 2, 3]) out.push([`zero${stage}`, zero(plan, run, stage)]);
    out.push(["shard_grad_op", fsdp1(plan, shape, run, ranks, false)]);
    if (hybrid) out.push(["hybrid_shard", fsdp1(plan, shape, run, node, true)]);
    out.push(["full_shard", fsdp1(plan, shape, run, ranks, true)]);
    out.push(["fsdp2_no_reshard", fsdp2(plan, shape, run, ranks, false)]);
    if (hybrid) out.push(["fsdp2_hybrid", fsdp2(plan, shape, run, node, true)]);
    return [...out, ["fsdp2", fsdp2(plan, shape, run, ranks, true)]];
  }

  /* What a micro-batch holds for the backward */

  function tokenBytes(shape, autocast, full) {
    const attention = 4 * shape.heads * shape.headDim, kind = full ? 0 : autocast ? 1 : 2;
    const norms = (shape.gated ? [24, 26, 16] : [16, 12, 8])[kind];
    const feed = (shape.gated ? 4 : autocast ? 8 : 5) * shape.intermediate;
    return norms * shape.hidden + (full ? 4 : 2) * (attention + feed);
  }

  /* The same where every matrix is frozen and has an adapter, which keeps a float32 copy of its input. */
  function loraBytes(shape) {
    const inputs = sum(matrices(shape), (matrix) => matrix[1]);
    const saved = 4 * shape.heads * shape.headDim + (shape.gated ? 3 : 4) * shape.intermediate;
    return (shape.gated ? 8 : 4) * shape.hidden + 2 * saved + 4 * inputs;
  }

  function activations(shape, run, autocast) {
    const full = run.precision === "fp32", tokens = run.seq * run.batch, stream = autocast || full ? 4 : 2;
    const squares = full && shape.kvHeads < shape.heads ? run.seq * shape.heads * 4 : 0;
    const layer = tokens * (squares + (run.lora && !full ? loraBytes(shape) : tokenBytes(shape, autocast, full)));
    const loss = tokens * shape.vocab * (data.lossSaved + data.lossWorking);
    const kept = layer * shape.layers + tokens * shape.hidden * stream * 3;
    const inputs = tokens * shape.hidden * stream * (shape.layers + 3);
    return { kept, inputs, layer, loss, plain: kept + loss, checkpointed: inputs + Math.max(loss, layer) };
  }

  /* Rows */

  function strategies(shape, run) {
    const plan = listed(shape, run), held = table(plan, shape, run), found = Object.fromEntries(held);
    const rows = held.filter(([name]) => run.gpus > 1 || name === "ddp");
    const out = rows.map(([name, one]) => row(name, one, plan, shape, run));
    const local = Math.min(run.gpus, run.perNode);
    for (const base of ["zero2", "zero3", "fsdp2"]) {
      const one = found[base], like = row(base, one, plan, shape, run), all = base === "fsdp2";
      const moved = one.grads + one.optimizer + (all ? one.params : 0);
      out.push({
        ...like, name: `${base}_offload`, params: all ? 0 : one.params, grads: 0, optimizer: 0,
        stepping: all ? one.ending : 0, host: moved * local,
      });
    }
    return out;
  }

  function row(name, held, plan, shape, run) {
    const mixed = run.precision === "bf16" || run.precision === "fp16", autocast = name === "ddp" && mixed && !run.lora;
    const spared = autocast && !shape.tied ? 2 * shape.vocab * shape.hidden : 0;
    const stepping = run.optimizer === "adamw" && !name.startsWith("zero") ? Math.floor(held.optimizer / 2) : 0;
    const [sent, leaves] = traffic(name, plan, run);
    return {
      name, params: held.params, grads: held.grads, optimizer: held.optimizer,
      gathered: held.through - spared, passing: held.passing, stepping: Math.max(held.ending, stepping),
      activations: activations(shape, run, autocast), host: 0, sent, leaves,
    };
  }

  function traffic(name, plan, run) {
    const share = (size, ranks) => Math.floor((size * (ranks - 1)) / ranks);
    const reduced = trainedTotal(plan, numel) * (low(run) ? 2 : 4);
    const gathered = total(plan, (param) => numel(param) * (low(run) ? 2 : param[2]));
    let size = 2 * gathered + reduced;
    if (name === "ddp") size = 2 * trainedTotal(plan, bytes);
    else if (name === "zero1" || name === "zero2") size = 2 * reduced;
    else if (name === "shard_grad_op" || name === "fsdp2_no_reshard") size = gathered + reduced;
    if (name === "hybrid_shard" || name === "fsdp2_hybrid") {
      const across = share(2 * reduced, run.nodes);
      return [share(size, run.perNode) + Math.floor(across / run.perNode), across];
    }
    const sent = share(size, run.gpus);
    return [sent, run.nodes > 1 ? sent : 0];
  }

  const states = (one) => one.params + one.grads + one.optimizer;

  /* What computing adds to states and activations at its busiest moment, without checkpointing. */
  const working = (one) => one.gathered + Math.max(0, one.passing - one.activations.loss);

  function peak(one, checkpointing) {
    const saved = one.activations, kept = checkpointing ? saved.inputs : saved.kept;
    const busy = one.gathered + kept + Math.max(saved.loss, (checkpointing ? saved.layer : 0) + one.passing);
    const moving = Math.max(busy, one.stepping);
    return states(one) + moving + Math.trunc(moving * data.slack) + data.context;
  }

  function fits(one, run, checkpointing) {
    if (run.host !== null && one.host > run.host * 0.9) return false;
    return peak(one, checkpointing) <= run.memory;
  }

  function fit(one, run) {
    return fits(one, run, false) ? "plain" : fits(one, run, true) ? "checkpointing" : "no";
  }

  /* The answer */

  function advise(shape, run) {
    const rows = strategies(shape, run);
    const about = { shape, run, rows, chosen: null, checkpointing: run.checkpointing !== "off", enough: null };
    for (const [name, open] of data.ladder) {
      const checkpointing = run.checkpointing === "auto" ? open : run.checkpointing === "on";
      const found = rows.find((one) => one.name === name);
      if (found && fits(found, run, checkpointing)) {
        const more = found.host ? enough(shape, run) : run.gpus;
        return { ...about, chosen: found, checkpointing, enough: more };
      }
    }
    return { ...about, enough: enough(shape, run) };
  }

  /* Return the advice with another strategy to start from. */
  function choose(advice, name) {
    const found = advice.rows.find((one) => one.name === name), asked = advice.run.checkpointing;
    const checkpointing = asked === "on" || (asked === "auto" && !fits(found, advice.run, false));
    return { ...advice, chosen: found, checkpointing };
  }

  function enough(shape, run) {
    const plan = listed(shape, run);
    let gpus = Math.max(2, run.gpus);
    while (gpus <= data.mostGpus) {
      const perNode = Math.min(gpus, Math.max(run.perNode, Math.min(8, gpus)));
      const larger = { ...run, gpus, perNode, nodes: up(gpus, perNode) };
      const one = row("fsdp2", fsdp2(plan, shape, larger, gpus, true), plan, shape, larger);
      if (fits(one, larger, run.checkpointing !== "off")) return gpus;
      let next = 1;
      while (next <= gpus) next *= 2;
      gpus = next;
    }
    return null;
  }

  /* The form */

  const COUNT = /^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e([0-9]{1,2}))? *([kmbt]?)$/;
  const SIZE = /^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e([0-9]{1,2}))? *([kmgt]?)i?b?$/;
  const COUNTS = { "": 1, k: 1e3, m: 1e6, b: 1e9, t: 1e12 };
  const BYTES = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };
  const repeated = (text) => Array.from(text.trim().split(/\s+/).join(" ")).slice(0, 40).join("");

  function scaled(pattern, units, text) {
    const found = pattern.exec(text);
    return found ? Number(`${found[1]}e${found[2] || 0}`) * units[found[3]] : 0;
  }

  function model(text) {
    const name = text.trim().toLowerCase();
    if (Object.prototype.hasOwnProperty.call(data.presets, name)) return shaped(data.presets[name]);
    const value = scaled(COUNT, COUNTS, name.replace(/[_,]/g, ""));
    if (!(value >= 1 && value < 1e15)) throw new Problem("error.count", { given: repeated(text) });
    return typical(round(value));
  }

  function whole(field, text) {
    const most = data.whole[field];
    if (!text && data.optional.includes(field)) return 0;
    if (!/^[0-9]{1,9}$/.test(text) || Number(text) < 1 || Number(text) > most) {
      throw new Problem("error.whole", { given: repeated(text), most }, field);
    }
    return Number(text);
  }

  function memory(field, text) {
    if (!text && data.optional.includes(field)) return 0;
    const value = scaled(SIZE, BYTES, text.toLowerCase());
    if (!(value >= 1 && value < 2 ** 60)) throw new Problem("error.size", { given: repeated(text) }, field);
    return Math.trunc(value);
  }

  /* Return the model and the run that a form describes; throws a Problem for the first field that cannot be read. */
  function read(form, config) {
    const shape = config ? fromConfig(config) : model(form.model), number = {}, size = {};
    for (const field in data.whole) number[field] = whole(field, form[field].trim());
    for (const field of data.sizes) size[field] = memory(field, form[field].trim());
    for (const field in data.choices) {
      const words = data.choices[field];
      if (words.includes(form[field])) continue;
      throw new Problem("error.choice", { given: repeated(form[field]), choices: words.join(", ") }, field);
    }
    const gpus = number.gpus, perNode = number.per_node || Math.min(8, gpus);
    if (gpus > perNode && gpus % perNode) throw new Problem("error.spread", { gpus, per_node: perNode }, "per_node");
    const run = {
      gpus, perNode: Math.min(perNode, gpus), memory: size.memory, host: size.host || null, seq: number.seq,
      batch: number.batch, lora: number.lora, optimizer: form.optimizer, precision: form.precision,
      checkpointing: form.checkpointing,
    };
    run.nodes = up(run.gpus, run.perNode);
    return { shape, run };
  }

  /* Sentences */

  function decimals(value, places) {
    const text = value.toFixed(places), rest = value.toFixed(places + 50).slice(text.length + (places ? 0 : 1));
    if (!/^50*$/.test(rest)) return text;
    const last = Number(text[text.length - 1]);
    return last % 2 ? (Number(text) - 10 ** -places).toFixed(places) : text;
  }

  /* Write a number with so many significant digits, as Python's format code g does. */
  function significant(value, digits) {
    if (!value) return "0";
    const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
    const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    if (exponent >= -4 && exponent < digits) return bare(decimals(value, digits - 1 - exponent));
    const [front, power] = value.toExponential(digits - 1).split("e");
    return `${bare(front)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }

  function size(count) {
    for (const [unit, factor] of [["TiB", 2 ** 40], ["GiB", GIB], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (count >= factor) return `${decimals(count / factor, 1)} ${unit}`;
    }
    return `${count} B`;
  }

  function number(count) {
    for (const [letter, factor] of [["B", 1e9], ["M", 1e6]]) {
      if (count < factor) continue;
      return (count < 1000 * factor ? significant(count / factor, 3) : decimals(count / factor, 0)) + letter;
    }
    return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  function figure(count) {
    return decimals(count / GIB, count / GIB < 1000 ? 1 : 0);
  }

  /* Whether a text ends in a vowel, in ㄹ or in another consonant, read aloud in Korean. */
  function finalSound(text) {
    const found = /([0-9A-Za-z]+|(?:(?![\x00-\x7f])[\p{L}\p{N}])+)[^\p{L}\p{N}]*$/u.exec(text);
    const word = found ? found[1] : "", last = word[word.length - 1];
    if (!last) return "vowel";
    if (last >= "가" && last <= "힣") {
      const final = (last.charCodeAt(0) - 0xac00) % 28;
      return final === 0 ? "vowel" : final === 8 ? "rieul" : "consonant";
    }
    if (last in data.digits) return data.digits[last];
    if (!/[A-Za-z]/.test(last)) return "vowel";
    const read = word.length >= data.spokenLength && /[aeiou]/i.test(word);
    return /[A-Z]/.test(last) && !read ? data.letters[last] || "vowel" : latin(word.toLowerCase());
  }

  function latin(word) {
    if (Object.prototype.hasOwnProperty.call(data.spoken, word)) return data.spoken[word];
    if (/.[lmn]e$/.test(word)) word = word.slice(0, -1);
    if (word.endsWith("l")) return "rieul";
    if (/([mn]|ng|ock|ack|ick|ook|out)$/.test(word)) return "consonant";
    return /[^aeiou][aeiou][ptb]$/.test(word) ? "consonant" : "vowel";
  }

  function particle(before, pair) {
    const [consonant, vowel] = data.particles[pair], final = finalSound(before);
    return final === "vowel" || (final === "rieul" && pair === "으로/로") ? vowel : consonant;
  }

  /* Return what says sentences in one language: keys are those below `advise.`. */
  function speaker(lang) {
    const sentences = data.sentences[lang];
    return (key, values = {}) => sentences[key].split(/(\{[^{}]+\})/).reduce((out, part) => {
      if (part[0] !== "{") return out + part;
      const name = part.slice(1, -1);
      return out + (name in data.particles ? particle(out, name) : String(values[name]));
    }, "");
  }

  function verdict(advice, say) {
    const { run, chosen, checkpointing } = advice, values = { gpus: run.gpus, memory: size(run.memory) };
    if (!chosen) {
      const more = run.checkpointing === "off" ? "needs-more.off" : "needs-more";
      return say(advice.enough === null ? "nothing-fits" : more, { ...values, enough: advice.enough });
    }
    const about = { ...values, strategy: data.names[chosen.name], peak: size(peak(chosen, checkpointing)) };
    return say(checkpointing ? "start.checkpointing" : "start", about);
  }

  function assumed({ shape, run }, say) {
    const lines = [
      say(shape.source === "typical" ? "shape.typical.form" : "shape.config", {
        ...shape, parameters: number(parameters(shape)),
      }),
      say("run", {
        precision: run.lora ? data.computed[run.precision] : say(`precision.${run.precision}`),
        optimizer: data.optimizers[run.optimizer], sequence: run.seq, batch: run.batch,
        nodes: run.nodes, per_node: Math.min(run.perNode, run.gpus),
      }),
    ];
    return run.lora ? [...lines, say("lora", { rank: run.lora })] : lines;
  }

  function notes(advice, say) {
    const { chosen, run } = advice, out = chosen ? about(chosen, advice, say) : [];
    if (!chosen) {
      if (advice.enough !== null) out.push(say("note.more-gpus", { gpus: advice.enough }));
      if (run.checkpointing === "off") out.push(say("note.allow-checkpointing"));
      out.push(say("note.shorter.form"));
      if (!run.lora) out.push(say("note.lora.form"));
    }
    return [...out, say("note.counted")];
  }

  function about(chosen, advice, say) {
    const out = [];
    if (chosen.host) {
      out.push(say("note.host", { size: size(chosen.host) }));
      if (advice.enough !== null) out.push(say("note.enough", { gpus: advice.enough }));
    }
    if (chosen.leaves) {
      const seconds = significant((chosen.leaves * 8) / 100e9, 2);
      out.push(say("note.leaves", { size: size(chosen.leaves), seconds }));
    }
    if (advice.checkpointing) {
      out.push(say("note.checkpointing"));
      if (!chosen.name.startsWith("fsdp2")) out.push(say("note.checkpointing-call"));
    }
    return out;
  }

  const shown = (advice) => advice.rows.filter((one) => !data.hidden.includes(one.name));

  /* A strategy's figures in GiB, in the order of the table's columns. */
  function figures(one, run) {
    const peaks = [false, true].map((on) => figure(peak(one, on)) + (fits(one, run, on) ? " ✓" : " ✗"));
    return [figure(states(one)), figure(working(one)), figure(one.activations.plain), ...peaks, figure(one.sent)];
  }

  /* What to start with */

  function command({ run }) {
    const ranks = Math.min(run.gpus, run.perNode);
    if (run.nodes === 1) return `torchrun --standalone --nproc-per-node ${ranks} train.py`;
    return `torchrun --nnodes ${run.nodes} --nproc-per-node ${ranks} --rdzv-id run1 --rdzv-backend c10d `
      + `--rdzv-endpoint ${data.firstNode}:${data.port} train.py`;
  }

  function files(advice) {
    if (!advice.chosen) return {};
    const json = JSON.stringify(deepspeed(advice), null, 2).replace('"gradient_clipping": 1,', '"gradient_clipping": 1.0,');
    return {
      "accelerate.yaml": yaml(accelerate(advice), ""), "ds_config.json": `${json}\n`, "train.sbatch": sbatch(advice),
    };
  }

  function accelerate({ run, chosen: { name }, checkpointing }) {
    const mixed = ["bf16", "fp16"].includes(run.precision) ? run.precision : "no", ours = name.startsWith("zero");
    const out = {
      compute_environment: "LOCAL_MACHINE", distributed_type: run.gpus > 1 ? "MULTI_GPU" : "NO",
      mixed_precision: mixed, num_machines: run.nodes, num_processes: run.gpus, machine_rank: 0, use_cpu: false,
    };
    if (run.nodes > 1) {
      Object.assign(out, {
        main_process_ip: data.firstNode, main_process_port: data.port, rdzv_backend: "static", same_network: true,
      });
    }
    if (!ours && name !== "ddp") {
      out.distributed_type = "FSDP";
      out.fsdp_config = fsdp(name, checkpointing);
      if (name === "fsdp2_hybrid" || name === "hybrid_shard") {
        out.parallelism_config = {
          parallelism_config_dp_replicate_size: run.nodes, parallelism_config_dp_shard_size: run.perNode,
        };
      }
    }
    if (ours) {
      delete out.mixed_precision;
      out.distributed_type = "DEEPSPEED";
      out.deepspeed_config = { deepspeed_config_file: "ds_config.json", zero3_init_flag: false };
    }
    return out;
  }

  function fsdp(name, checkpointing) {
    return {
      fsdp_version: 2, fsdp_reshard_after_forward: name !== "fsdp2_no_reshard" && name !== "shard_grad_op",
      fsdp_auto_wrap_policy: "TRANSFORMER_BASED_WRAP", fsdp_activation_checkpointing: checkpointing,
      fsdp_cpu_ram_efficient_loading: true, fsdp_offload_params: name === "fsdp2_offload",
      fsdp_state_dict_type: "SHARDED_STATE_DICT",
    };
  }

  function deepspeed({ run, chosen: { name } }) {
    const stage = data.stages[name], host = () => ({ device: "cpu", pin_memory: true }), settings = { stage };
    if (stage >= 2) Object.assign(settings, { overlap_comm: true, contiguous_gradients: true });
    if (stage === 3) settings.stage3_gather_16bit_weights_on_model_save = true;
    if (name.endsWith("_offload")) settings.offload_optimizer = host();
    if (name === "fsdp2_offload") settings.offload_param = host();
    const out = {
      train_micro_batch_size_per_gpu: run.batch, gradient_accumulation_steps: 1, gradient_clipping: 1,
      zero_optimization: settings,
    };
    if (run.precision === "bf16" || run.precision === "pure-bf16") out.bf16 = { enabled: true };
    else if (run.precision === "fp16") out.fp16 = { enabled: true };
    return out;
  }

  function sbatch({ run }) {
    const ranks = Math.min(run.gpus, run.perNode);
    return [
      "#!/bin/bash", "#SBATCH --job-name=train", `#SBATCH --nodes=${run.nodes}`, "#SBATCH --ntasks-per-node=1",
      `#SBATCH --gpus-per-node=${ranks}`, `#SBATCH --cpus-per-task=${ranks * data.cores}`,
      "#SBATCH --output=%x-%j.out", "", "set -euo pipefail", `export OMP_NUM_THREADS=${data.cores}`,
      'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)', "",
      'srun --cpus-per-task="$SLURM_CPUS_PER_TASK" torchrun \\', '  --nnodes="$SLURM_NNODES" \\',
      `  --nproc-per-node=${ranks} \\`, '  --rdzv-id="$SLURM_JOB_ID" \\', "  --rdzv-backend=c10d \\",
      `  --rdzv-endpoint="$head:${data.port}" \\`,
      '  --log-dir="logs/$SLURM_JOB_ID" --redirects=3 --tee=3 \\', "  train.py", "",
    ].join("\n");
  }

  function yaml(document, indent) {
    return Object.entries(document).map(([key, value]) => {
      if (typeof value === "object") return `${indent}${key}:\n${yaml(value, `${indent}  `)}`;
      return `${indent}${key}: ${/^no$/i.test(value) ? `'${value}'` : value}\n`;
    }).join("");
  }

  /* The command that asks the same in a shell. */
  function commandLine(form) {
    const words = ["distkb", "advise"];
    for (const field in data.form) {
      const value = form[field].trim(), always = ["model", "gpus", "memory"].includes(field);
      if (value && (always || value !== data.form[field])) words.push(data.options[field] || `--${field}`, value);
    }
    return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`)).join(" ");
  }

  return {
    Problem, advise, assumed, choose, command, commandLine, figures, files, fit, notes, parameters, peak, read, shown,
    size, speaker, states, verdict,
  };
})();
