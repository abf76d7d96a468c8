"use strict";
(() => {
  const data = JSON.parse(document.getElementById("wheels").textContent);
  const at = (id) => document.getElementById(id);
  const root = new URL(".", location.href).href;
  const toolNotes = {
    pip: "Installs exactly this wheel and checks its hash; dependencies come from the indexes configured for pip.",
    uv: "Installs exactly this wheel and checks its hash; dependencies come from the indexes configured for uv.",
    installer: "Run it on the machine with the GPU, which it detects. --dry-run prints the command without running it.",
    requirements: "For requirements.txt or pyproject.toml. Alternatively, a pin with its index URL: ",
  };
  const tools = [["pip", "pip"], ["uv", "uv"], ["installer", "install_wheel.py"], ["requirements", "requirement"]];

  const number = (text) => text.split(/[^0-9]+/).filter(Boolean).map(Number);
  const unique = (values) => [...new Set(values)];
  // Same format as sizes.py.
  const size = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB"];
    let [value, unit] = [bytes, 0];
    for (; value >= 1024 && unit < 3; unit += 1) value /= 1024;
    return `${value.toFixed(unit === 0 ? 0 : unit === 3 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit]}`;
  };
  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // The choices; the URL fragment keeps them, so that links can be shared.
  const chosen = Object.fromEntries(new URLSearchParams(location.hash.substring(1)));
  const keep = (key, values) => {
    if (!values.includes(chosen[key])) chosen[key] = values[0];
    return chosen[key];
  };

  function select(id, options, change) {
    const box = at(id);
    box.replaceChildren(...options);
    box.value = chosen[id];
    box.onchange = () => { chosen[id] = box.value; change(); };
  }

  function pills(id, values, shown, change) {
    at(`for-${id}`)?.toggleAttribute("hidden", values.length < 2 && (values[0] ?? "") === "");
    const focused = document.activeElement?.name === id;
    at(id).replaceChildren(...values.map((value) => {
      const label = make("label", "");
      const input = make("input", "", { type: "radio", name: id, value });
      input.checked = chosen[id] === value;
      input.onchange = () => { chosen[id] = value; change(); };
      label.append(input, make("span", shown(value)));
      return label;
    }));
    if (focused) at(id).querySelector("input:checked")?.focus();
  }

  function covers(wheels, capability) {
    return wheels.some((one) => one.covers === null || one.covers.includes(capability));
  }

  function gpuOptions(wheels) {
    const options = [make("option", "Choose your GPU …", { value: "" })];
    for (const generation of unique(data.gpus.map((one) => one.generation))) {
      const group = make("optgroup", "", { label: generation });
      for (const gpu of data.gpus.filter((one) => one.generation === generation)) {
        const supported = covers(wheels, gpu.capability);
        for (const name of gpu.names) {
          const text = `${name} (${gpu.capability})${supported ? "" : ", no wheel"}`;
          group.append(make("option", text, { value: name }));
        }
      }
      options.push(group);
    }
    const named = new Set(data.gpus.map((one) => one.capability));
    const rest = unique(wheels.flatMap((one) => one.covers ?? [])).filter((one) => !named.has(one));
    options.push(...rest.map((one) => make("option", `compute capability ${one}`, { value: one })));
    return options;
  }

  const capability = () => data.gpus.find((one) => one.names.includes(chosen.gpu))?.capability ?? chosen.gpu;

  function draw() {
    const project = keep("project", data.projects);
    at("for-project").toggleAttribute("hidden", data.projects.length < 2);
    select("project", data.projects.map((name) => make("option", name, { value: name })), draw);
    const own = data.wheels.filter((one) => one.project === project);
    const versions = unique(own.map((one) => one.version));
    const version = keep("version", versions);
    select("version", versions.map((one) => {
      const nightly = own.find((entry) => entry.version === one).nightly;
      return make("option", one + (nightly ? " (nightly)" : ""), { value: one });
    }), draw);
    let entries = own.filter((one) => one.version === version);
    const cudas = unique(entries.map((one) => one.cuda ?? "")).sort((a, b) => number(b)[0] - number(a)[0]);
    const cuda = keep("cuda", cudas);
    pills("cuda", cudas, (one) => {
      const toolkit = entries.find((entry) => entry.cuda === one)?.toolkit;
      return one === "" ? "none" : toolkit ?? one;
    }, draw);
    entries = entries.filter((one) => (one.cuda ?? "") === cuda);
    // A shim contains no code: its provider wheels decide which GPUs it covers.
    const providers = unique(entries.flatMap((one) => one.needs.map((need) => need.project)));
    const parts = data.wheels.filter((one) => providers.includes(one.project) && entries.some((entry) => entry.full === one.full));
    const code = parts.length ? parts : entries;
    const arches = unique(code.map((one) => one.arch ?? "")).sort().reverse();
    const arch = keep("arch", arches);
    pills("arch", arches, (one) => one || "any", draw);
    const here = (one) => (one.arch ?? arch) === arch;
    const pythons = unique(entries.filter(here).map((one) => one.python)).sort((a, b) => number(b)[0] - number(a)[0]);
    const python = keep("python", pythons);
    pills("python", pythons.length > 1 ? pythons : [""], (one) => one.replace(/^cp(\d)(\d+)$/, "$1.$2"), draw);
    entries = entries.filter((one) => here(one) && one.python === python);
    const candidates = parts.length ? parts.filter(here) : entries;
    const needed = candidates.some((one) => one.covers === null || one.covers.length) && cuda !== "";
    at("for-gpu").toggleAttribute("hidden", !needed);
    if (!data.gpus.some((one) => one.names.includes(chosen.gpu)) && !/^\d+\.\d$/.test(chosen.gpu ?? "")) chosen.gpu = "";
    select("gpu", gpuOptions(candidates), draw);
    history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
    answer(entries, candidates, parts, needed, providers);
  }

  function findElsewhere(capability, providers) {
    const others = data.wheels.filter((one) =>
      (one.project === chosen.project || providers.includes(one.project)) && (one.covers ?? []).includes(capability));
    others.sort((a, b) => (b.arch === chosen.arch) - (a.arch === chosen.arch));
    const named = unique(others.map((one) => `${one.version} for CUDA ${one.toolkit ?? one.cuda} on ${one.arch ?? "any CPU"}`));
    return named.length ? `Covered by ${named.filter((_, index) => index < 4).join(", ")}.` : "No version on this page covers it.";
  }

  function answer(entries, candidates, parts, needed, providers) {
    const selected = needed ? capability() : null;
    if (needed && !selected) {
      setAnswer("", "Choose your GPU to see its wheel. If you do not know it, install_wheel.py detects it.", null);
      return;
    }
    const usable = (one) => !needed || one.covers === null || one.covers.includes(selected);
    const order = (a, b) => (a.yanked !== null) - (b.yanked !== null) || (a.covers === null) - (b.covers === null) || a.bytes - b.bytes;
    const best = candidates.filter(usable).sort(order)[0];
    if (!best) {
      const known = unique(candidates.flatMap((one) => one.covers ?? [])).sort((a, b) => number(a)[0] - number(b)[0] || number(a)[1] - number(b)[1]);
      setAnswer("bad", `No wheel for these choices covers ${chosen.gpu}${selected === chosen.gpu ? "" : ` (compute capability ${selected})`}.`,
        `${known.length ? `Covered: ${known.join(", ")}. ` : ""}${findElsewhere(selected, providers)}`);
      return;
    }
    if (!parts.length) {
      show([{ wheel: best, extras: [] }]);
      return;
    }
    const shim = entries[0];
    const always = shim.needs.filter((need) => need.extra === null).map((need) => need.project);
    const required = always.length ? candidates.filter((one) => always.includes(one.project)) : [best];
    const extras = always.length ? [] : shim.needs.filter((need) => need.project === best.project).map((need) => need.extra);
    show([{ wheel: shim, extras }, ...required.map((wheel) => ({ wheel, extras: [] }))], best);
  }

  function setAnswer(kind, text, more) {
    at("answer").className = kind;
    at("answer").replaceChildren(make("p", text), ...(more ? [make("p", more, { class: "soft" })] : []));
    at("commands").hidden = kind !== "good";
  }

  function show(picked, best = picked[0].wheel) {
    const bytes = picked.reduce((sum, one) => sum + one.wheel.bytes, 0);
    const coverage = best.covers === null ? "coverage unknown" : best.covers.length ? `covers ${best.covers.join(", ")}` : "for any machine";
    setAnswer("good", picked.map((one) => one.wheel.file).join(" + "), `${size(bytes)}; ${coverage}; test: ${best.test}`);
    if (best.yanked !== null) at("answer").append(make("p", `Yanked: ${best.yanked || "no reason given"}`, { class: "bad" }));
    if (!tools.some(([id]) => id === chosen.tool)) chosen.tool = "pip";
    pills("tool", tools.map(([id]) => id), (id) => tools.find((one) => one[0] === id)[1], () => { show(picked, best); });
    history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
    const wheel = picked[0].wheel;
    const named = ({ wheel: one, extras }) => one.project + (extras.length ? `[${extras.join(",")}]` : "");
    const direct = picked.map((one) => `${named(one)} @ ${new URL(one.wheel.url, root).href}#sha256=${one.wheel.sha256}`);
    const quoted = direct.map((one) => ` \\\n  "${one}"`).join("");
    at("command").textContent = {
      pip: `python -m pip install${quoted}`,
      uv: `uv pip install${quoted}`,
      installer: `curl -fsSLO ${root}install_wheel.py\npython install_wheel.py ${wheel.project}==${wheel.version} \\\n  --index-url ${root}`,
      requirements: direct.join("\n"),
    }[chosen.tool];
    const pin = `${named(picked[0])}==${wheel.full} from ${root}${wheel.page ? `${wheel.page}/` : ""}`;
    at("note").textContent = toolNotes[chosen.tool] + (chosen.tool === "requirements" ? pin : "");
    at("copy").textContent = "Copy";
  }

  at("copy").onclick = async () => {
    const text = at("command").textContent;
    try {
      await navigator.clipboard.writeText(text);
      at("copy").textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(at("command"));
      at("copy").textContent = "Selected";
    }
  };

  at("picker").hidden = false;
  addEventListener("hashchange", () => {
    Object.assign(chosen, Object.fromEntries(new URLSearchParams(location.hash.substring(1))));
    draw();
  });
  draw();
})();
