"""Systems as a study defines them."""

from steelyard.study import study_file
from steelyard.study.model import SystemDefinition


def definition(text: str, name: str = "tuned") -> SystemDefinition:
    whole = f'name = "x"\ntitle = "x"\n[[workload]]\nname = "null"\n[system.{name}]\n{text}'
    (found,) = study_file.parse(whole, file="x.toml").definitions
    return found
