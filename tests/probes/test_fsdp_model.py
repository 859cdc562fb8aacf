"""The FSDP model probe on user projects of every kind, in a pretended world."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from fsdp_models import alone, ids, inspect, project

CALLABLES = (
    "plain",
    "large",
    "tied",
    "uneven",
    "fsdp2_root_only",
    "fsdp2_blocks_only",
    "fsdp2_tied_apart",
    "fsdp2_tied_together",
    "fsdp2_half_precision_policy",
    "fsdp2_dtypes",
    "fsdp2_lora",
    "fsdp2_pure_bf16",
    "hybrid",
    "hybrid_across",
    "fsdp1",
    "fsdp1_flat",
    "fsdp1_tied_apart",
    "ddp",
    "offloaded",
    "fsdp1_frozen",
    "fsdp1_frozen_refused",
    "fsdp1_dtypes_refused",
    "fsdp1_no_shard",
    "drop_path",
    "asks_for_devices",
    "lazy",
    "scalar",
    "reads_a_weight",
    "raises",
    "exits",
    "needs",
    "not_a_model",
    "plaim",
)


REQUESTS: dict[str, dict[str, Any]] = {
    **{name: {"model": f"models:{name}"} for name in CALLABLES},
    "no module": {"model": "nowhere.at_all:build"},
    "broken module": {"model": "broken:build"},
    "no callable named": {"model": "models"},
    "a file": {"model": "models.py:plain"},
    "no file": {"model": "gone.py:x"},
    "wrap Linear": {"model": "models:plain", "wrap": ["Linear"]},
    "wrap nothing": {"model": "models:plain", "wrap": ["DecoderLayer"]},
    "too large for DDP": {"model": "models:large", "strategy": "ddp", "gpu_memory": "2.6G", "world_size": 64},
    "too large": {"model": "models:large", "gpu_memory": 1 << 20, "world_size": 64},
    "fsdp-optimizer": {"model": "models:plain", "optimizer": "adafactor"},
    "fsdp-precision": {"model": "models:plain", "precision": "int4"},
    "fsdp-strategy": {"model": "models:plain", "strategy": "magic"},
    "fsdp-gpu-memory": {"model": "models:plain", "gpu_memory": "much"},
    "fsdp-world-size": {"model": "models:plain", "world_size": 0},
    "fsdp-model-spec": {"model": ""},
}
"""Answered by one process: importing torch takes longer than all of them."""


@cache
def _documents() -> dict[str, dict[str, Any]]:
    return dict(zip(REQUESTS, inspect(list(REQUESTS.values())), strict=True))


def _document(name: str) -> dict[str, Any]:
    return _documents()[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "findings"),
    [
        ("plain", set()),
        ("uneven", set()),
        ("tied", set()),
        ("hybrid", set()),
        ("fsdp1", set()),
        ("fsdp1_flat", set()),
        ("fsdp2_lora", set()),
        ("fsdp2_tied_together", set()),
        ("drop_path", set()),
        ("ddp", set()),
        ("asks_for_devices", set()),
        ("scalar", {"model.fully-shard-refuses"}),
        ("offloaded", set()),
        ("fsdp1_tied_apart", {"model.tied-across-units"}),
        ("fsdp2_root_only", {"model.root-holds-most"}),
        ("fsdp2_blocks_only", {"model.unmanaged-parameters"}),
        ("fsdp2_tied_apart", {"model.tied-across-units"}),
        ("fsdp2_half_precision_policy", {"model.reduce-dtype-unset"}),
        ("fsdp2_dtypes", {"model.dtypes-mixed-in-unit"}),
        ("fsdp2_pure_bf16", {"model.no-master-weights"}),
        ("hybrid_across", {"model.shard-group-across-nodes"}),
        ("fsdp1_frozen", {"model.frozen-mixed-in-unit"}),
        ("fsdp1_frozen_refused", {"model.frozen-refused"}),
        ("fsdp1_dtypes_refused", {"model.dtypes-mixed-in-unit"}),
        ("fsdp1_no_shard", {"model.no-sharding"}),
    ],
)
def test_each_way_of_building_a_model_gives_its_own_finding_and_no_other(name: str, findings: set[str]) -> None:
    """What is wrong with a model is found, and nothing is found about a good one."""
    document = _document(name)
    assert document["status"] == "ok", document["detail"]
    assert ids(document) == findings


@pytest.mark.parametrize(
    ("name", "reason", "parts"),
    [
        ("reads_a_weight", "fsdp-not-on-meta", ("models.py:", "model.scale = model.norm.weight.sum().item()")),
        ("raises", "fsdp-callable-failed", ("raise RuntimeError", "RuntimeError: no checkpoint here")),
        ("exits", "fsdp-exited", ("sys.exit(3)",)),
        ("lazy", "fsdp-lazy", ("0.weight",)),
        ("needs", "fsdp-needs-arguments", ("'width'",)),
        ("not_a_model", "fsdp-not-a-module", ("dict",)),
        ("plaim", "fsdp-callable-missing", ("plain exists",)),
    ],
)
def test_a_model_that_cannot_be_had_is_told_in_one_line(name: str, reason: str, parts: tuple[str, ...]) -> None:
    """The reason has a code, and the detail quotes the user's own line, without a traceback."""
    document = _document(name)
    assert (document["status"], document["reason"]) == ("error", reason)
    assert all(part in document["detail"] for part in parts)
    assert "\n" not in document["detail"]


@pytest.mark.slow
def test_a_module_that_prints_or_ends_the_program_still_gets_a_document() -> None:
    """The document is the only thing on stdout, whatever the user's module does when it is imported."""
    document = alone({"model": "ends:build"})
    assert (document["status"], document["reason"]) == ("error", "fsdp-exited")
    assert "ends.py:3: `sys.exit(3)`" in document["detail"]


def test_modules_that_cannot_be_imported_are_told_apart() -> None:
    """A module that is not there, one that fails inside, and a spec that is none have three reasons; a file works."""
    names = ("no module", "broken module", "no callable named", "a file", "no file")
    found = [_document(name) for name in names]
    assert [item["reason"] for item in found] == [
        "fsdp-module-not-found",
        "fsdp-import-failed",
        "fsdp-model-spec",
        None,
        "fsdp-module-not-found",
    ]
    assert str(project() / "broken.py") in found[1]["detail"]


def test_units_and_root_are_those_of_the_model() -> None:
    """Units have the names, classes and sizes of the modules that were wrapped, the root what is left."""
    facts = _document("uneven")["facts"]
    assert [(unit["name"], unit["class"]) for unit in facts["units"]] == [
        ("", "Net"),
        ("layers.0", "Block"),
        ("layers.1", "Block"),
        ("layers.2", "Block"),
    ]
    root = 13 * 8 + 8 + 8 + 8 * 13
    block = 8 + 8 + 17 * 8 + 17 + 8 * 17
    assert (facts["root_unit"]["parameters"], facts["model"]["parameters"]) == (root, root + 3 * block)
    assert facts["largest_all_gather_bytes"] == 4 * block
    assert facts["api"] == "fsdp2"
    assert facts["unit_groups"][1]["count"] == 3


def test_fsdp1_units_have_the_names_of_the_unwrapped_model() -> None:
    """Nothing of the wrappers shows in names, and blocks are recognised inside them."""
    facts = _document("fsdp1")["facts"]
    assert facts["root_unit"]["params"]["names"] == ["embed.weight", "norm.weight", "norm.bias", "head.weight"]
    assert [unit["name"] for unit in facts["units"]] == ["", "layers.0", "layers.1", "layers.2"]
    assert facts["blocks"] == ["Block"]


def test_a_plain_model_is_wrapped_by_its_blocks_or_by_the_class_asked_for() -> None:
    """Without a class the repeated block is taken; a class that is not there is a finding that names those that are."""
    assert _document("plain")["facts"]["wrapped_by_probe"] == ["Block"]
    chosen, missing = _document("wrap Linear"), _document("wrap nothing")
    assert {unit["class"] for unit in chosen["facts"]["units"]} == {"Net", "Linear"}
    assert ids(missing) == {"model.wrap-class-missing"}
    assert "Block" in missing["found"][0]["values"]["known"]


def test_hybrid_meshes_shard_inside_the_node() -> None:
    """A two-dimensional mesh gives its own group sizes to the units."""
    units = _document("hybrid")["facts"]["units"]
    assert {(unit["shard"], unit["replicate"]) for unit in units} == {(8, 2)}


def test_what_is_offloaded_or_kept_is_counted_where_it_is() -> None:
    """Offloaded shards are not on the GPU; blocks without a root around them stay gathered."""
    offloaded = _document("offloaded")["facts"]
    assert offloaded["per_rank"]["built"]["total"] == 0
    assert offloaded["offloaded_bytes"] == _document("uneven")["facts"]["per_rank"]["built"]["params"]
    loose = _document("fsdp2_blocks_only")["facts"]
    assert loose["root_unit"] is None
    assert loose["per_rank"]["built"]["working"] == (3 + 2) * loose["largest_all_gather_bytes"]


def test_memory_decides_which_strategies_fit() -> None:
    """A strategy that does not fit is an error that names those that do; without any, the smallest is named."""
    document, none = _document("too large for DDP"), _document("too large")
    facts = document["facts"]
    assert ids(document) == {"model.does-not-fit"}
    assert facts["fits"] == {name: row["peak"] <= 2.6 * 2**30 for name, row in facts["per_rank"].items()}
    assert "FSDP2" in document["found"][0]["values"]["fitting"]
    assert not facts["fits"]["ddp"]
    assert facts["fits"]["fsdp2"]
    assert ids(none) == {"model.fits-no-strategy"}


def test_a_wrong_request_ends_with_its_own_reason() -> None:
    """Options that mean nothing are named, before torch is imported."""
    for name in REQUESTS:
        if name.startswith("fsdp-"):
            assert _document(name)["reason"] == name


@pytest.mark.slow
def test_a_thousand_ranks_and_seventy_billion_parameters_cost_seconds_and_no_memory() -> None:
    """1024 ranks and a 70B model stay below 60 s and 2 GB, of which the document tells."""
    (project() / "seventy.py").write_text(
        "import models\ndef build():\n    return models.fsdp2(models.Net(blocks=80, width=14784, vocabulary=128256))\n"
    )
    facts = alone({"model": "seventy:build", "world_size": 1024, "gpu_memory": "80G"})["facts"]
    assert facts["model"]["parameters"] > 70e9
    assert facts["seconds"] < 60
    assert facts["peak_rss_bytes"] < 2 * 2**30
    assert facts["units_total"] == 81
