"""The ONNX format: graphs made of operators, and run by onnxruntime."""

from dragoman.interop.onnx.limits import beyond_onnx
from dragoman.interop.onnx.opening import OnnxReader, OnnxTranslator, open_onnx
from dragoman.interop.onnx.writing import write_onnx

__all__ = ["OnnxReader", "OnnxTranslator", "beyond_onnx", "open_onnx", "write_onnx"]
