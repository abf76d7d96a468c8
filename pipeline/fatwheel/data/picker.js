"use strict";
(() => {
  const data = JSON.parse(document.getElementById("wheels").textContent);
  const at = (id) => document.getElementById(id);
  const root = new URL(".", location.href).href;
  const toolNotes = {
    pip: "Exactly this wheel, checked by its hash; what it requires comes from where your pip looks.",
    uv: "Exactly this wheel, checked by its hash; what it requires comes from where your uv looks.",
    installer: "Run it on the machine with the GPU: it looks for itself. --dry-run shows what it would do.",
    requirements: "A line for requirements.txt or pyproject.toml. Or the pin alone, with an index page: ",
  };
  const tools = [["pip", "pip"], ["uv", "uv"], ["installer", "install_wheel.py"], ["requirements", "a requirement"]];

  const number = (text) => text.split(/[^0-9]+/).filter(Boolean).map(Number);
  const unique = (values) => [...new Set(values)];
  const size = (bytes) =>
    bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB` : bytes >= 1e5 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // What is chosen; the address of the page keeps it, so that it can be sent to somebody.
  const chosen = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
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

  function covered(wheels, capability) {
    return wheels.some((one) => one.covers === null || one.covers.includes(capability));
  }

  function gpuOptions(wheels) {
    const options = [make("option", "Choose yours …", { value: "" })];
    for (const generation of unique(data.gpus.map((one) => one.generation))) {
      const group = make("optgroup", "", { label: generation });
      for (const gpu of data.gpus.filter((one) => one.generation === generation)) {
        const fits = covered(wheels, gpu.capability);
        for (const name of gpu.names) {
          const text = `${name} (${gpu.capability})${fits ? "" : ", no wheel"}`;
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
      const nightly = own.find((row) => row.version === one).nightly;
      return make("option", one + (nightly ? " (nightly)" : ""), { value: one });
    }), draw);
    let rows = own.filter((one) => one.version === version);
    const cudas = unique(rows.map((one) => one.cuda ?? "")).sort((a, b) => number(b)[0] - number(a)[0]);
    const cuda = keep("cuda", cudas);
    pills("cuda", cudas, (one) => {
      const toolkit = rows.find((row) => row.cuda === one)?.toolkit;
      return one === "" ? "none" : toolkit ?? one;
    }, draw);
    rows = rows.filter((one) => (one.cuda ?? "") === cuda);
    // A shim needs wheels of other names: what they are for is what it is for.
    const behind = unique(rows.flatMap((one) => one.needs.map((need) => need.project)));
    const parts = data.wheels.filter((one) => behind.includes(one.project) && rows.some((row) => row.full === one.full));
    const code = parts.length ? parts : rows;
    const arches = unique(code.map((one) => one.arch ?? "")).sort().reverse();
    const arch = keep("arch", arches);
    pills("arch", arches, (one) => one || "any", draw);
    const here = (one) => (one.arch ?? arch) === arch;
    const pythons = unique(rows.filter(here).map((one) => one.python)).sort((a, b) => number(b)[0] - number(a)[0]);
    const python = keep("python", pythons);
    pills("python", pythons.length > 1 ? pythons : [""], (one) => one.replace(/^cp(\d)(\d+)$/, "$1.$2"), draw);
    rows = rows.filter((one) => here(one) && one.python === python);
    const fitting = parts.length ? parts.filter(here) : rows;
    const needed = fitting.some((one) => one.covers === null || one.covers.length) && cuda !== "";
    at("for-gpu").toggleAttribute("hidden", !needed);
    if (!data.gpus.some((one) => one.names.includes(chosen.gpu)) && !/^\d+\.\d$/.test(chosen.gpu ?? "")) chosen.gpu = "";
    select("gpu", gpuOptions(fitting), draw);
    history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
    answer(rows, fitting, parts, needed, behind);
  }

  function elsewhere(wanted, behind) {
    const others = data.wheels.filter((one) =>
      (one.project === chosen.project || behind.includes(one.project)) && (one.covers ?? []).includes(wanted));
    others.sort((a, b) => (b.arch === chosen.arch) - (a.arch === chosen.arch));
    const named = unique(others.map((one) => `${one.version} for CUDA ${one.toolkit ?? one.cuda} on ${one.arch ?? "any CPU"}`));
    return named.length ? `There is one in ${named.slice(0, 4).join(", ")}.` : "None of the versions shown here has one.";
  }

  function answer(rows, fitting, parts, needed, behind) {
    const wanted = needed ? capability() : null;
    if (needed && !wanted) {
      tell("", "Choose your GPU to see which wheel is for it. You need not know: install_wheel.py finds out.", null);
      return;
    }
    const usable = (one) => !needed || one.covers === null || one.covers.includes(wanted);
    const order = (a, b) => (a.yanked !== null) - (b.yanked !== null) || (a.covers === null) - (b.covers === null) || a.bytes - b.bytes;
    const best = fitting.filter(usable).sort(order)[0];
    if (!best) {
      const known = unique(fitting.flatMap((one) => one.covers ?? [])).sort((a, b) => number(a)[0] - number(b)[0] || number(a)[1] - number(b)[1]);
      tell("bad", `No wheel of this choice holds code for ${chosen.gpu}${wanted === chosen.gpu ? "" : ` (compute capability ${wanted})`}.`,
        `${known.length ? `There is code for ${known.join(", ")}. ` : ""}${elsewhere(wanted, behind)}`);
      return;
    }
    if (!parts.length) {
      show([{ wheel: best, extras: [] }]);
      return;
    }
    const shim = rows[0];
    const always = shim.needs.filter((need) => need.extra === null).map((need) => need.project);
    const providers = always.length ? fitting.filter((one) => always.includes(one.project)) : [best];
    const extras = always.length ? [] : shim.needs.filter((need) => need.project === best.project).map((need) => need.extra);
    show([{ wheel: shim, extras }, ...providers.map((wheel) => ({ wheel, extras: [] }))], best);
  }

  function tell(kind, text, more) {
    at("answer").className = kind;
    at("answer").replaceChildren(make("p", text), ...(more ? [make("p", more, { class: "soft" })] : []));
    at("commands").hidden = kind !== "good";
  }

  function show(picked, best = picked[0].wheel) {
    const bytes = picked.reduce((sum, one) => sum + one.wheel.bytes, 0);
    const covers = best.covers === null ? "what GPUs it is for is not known" : best.covers.length ? `for ${best.covers.join(", ")}` : "for any machine";
    tell("good", picked.map((one) => one.wheel.file).join(" + "), `${size(bytes)}; ${covers}; proof: ${best.proof}`);
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
    Object.assign(chosen, Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    draw();
  });
  draw();
})();
