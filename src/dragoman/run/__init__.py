"""One run, from a recipe to a model folder: the order of things, over parts that do not know it."""

from dragoman.run.average import average
from dragoman.run.choose import choose_recipe
from dragoman.run.compare import compare
from dragoman.run.comparison.picture import draw_comparison
from dragoman.run.convert import export, import_model
from dragoman.run.diagnose import diagnose
from dragoman.run.dry_run import DryRun, dry_run
from dragoman.run.evaluate import Evaluation, evaluate, evaluate_alternatives
from dragoman.run.layer_timing import measure_crossing, measure_layers
from dragoman.run.load import load_model
from dragoman.run.measure import Measurement, measure
from dragoman.run.plan import plan
from dragoman.run.quickstart import quickstart_recipe, quickstart_results
from dragoman.run.resume_check import Comparison, ResumeCheck
from dragoman.run.start_from import model_table
from dragoman.run.train import train
from dragoman.run.verify_resume import verify_resume

__all__ = [
    "Comparison",
    "DryRun",
    "Evaluation",
    "Measurement",
    "ResumeCheck",
    "average",
    "choose_recipe",
    "compare",
    "diagnose",
    "draw_comparison",
    "dry_run",
    "evaluate",
    "evaluate_alternatives",
    "export",
    "import_model",
    "load_model",
    "measure",
    "measure_crossing",
    "measure_layers",
    "model_table",
    "plan",
    "quickstart_recipe",
    "quickstart_results",
    "train",
    "verify_resume",
]
