from dataclasses import dataclass, field


@dataclass
class TrainConfig:
    words: int = 6
    mels: int = 20
    frames: int = 40
    width: int = 32
    batch: int = 16
    lr: float = 2e-3
    epochs: int = 2
    steps: int = 20
    masks: list = field(default_factory=lambda: [("freq", 3), ("time", 6)])
