"""The Transformer, part by part: from one attention to a model that has learnt to reverse words.

    python examples/transformer.py

Read it beside the paper ("Attention Is All You Need", arXiv 1706.03762). Every part comes from
``dragoman.nn``, takes tensors and gives tensors; each step prints their shapes.
Shapes: B words at once, S letters read, T letters written, D numbers for each, V symbols.
"""

import torch
from torch import Tensor

from dragoman import nn  # the parts of the Transformer; torch.nn has the same name
from dragoman.training import inverse_sqrt, smoothed_cross_entropy

PADDING, START, END = 0, 1, 2
LETTERS = "abcdefghij"  # ids 3 to 12
V, D, HEADS, D_FF, LAYERS, LONGEST = 3 + len(LETTERS), 32, 4, 64, 2, 8


def step_1_attention() -> None:
    """Section 3.2.1: a query reads a mean of the values, each weighted by how well its key fits."""
    k = 8 * torch.eye(3)  # three keys that have nothing in common
    v = torch.tensor([[10.0], [20.0], [60.0]])
    q = torch.stack((k[1], k[0] + k[2]))  # one like the second key, one between the other two
    weights = nn.attention_weights(q, k)  # softmax(q kᵀ / √3), a row for each query
    print(f"1. attention  q {shape(q)}, k {shape(k)} -> weights {shape(weights)}")
    print(f"              read {(weights @ v).flatten().tolist()} of 10, 20, 60")


def step_2_heads() -> None:
    """Section 3.2.2: several such readings side by side, of D / HEADS numbers each, then joined."""
    attention, x = nn.MultiHeadAttention(D, HEADS), torch.randn(2, 5, D)
    print(f"2. heads      {HEADS} of {attention.d_k}: {shape(x)} -> {shape(attention(x, x))}")
    # A mask says what may be seen (3.2.3). This one hides from each letter those behind it.
    print(f"              causal mask {nn.causal_mask(3).int().tolist()}")


def residual() -> nn.Residual:
    """Section 3.1: LayerNorm(x + Sublayer(x)). The paper drops a tenth of it while training."""
    return nn.Residual(nn.LayerNorm(D), dropout=0.0)


def encoder_layer() -> nn.EncoderLayer:
    """Section 3.1: letters look at each other; then one small network works on each by itself."""
    attention, network = nn.MultiHeadAttention(D, HEADS), nn.FeedForward(D, D_FF)
    return nn.EncoderLayer(attention, network, (residual(), residual()))


def decoder_layer() -> nn.DecoderLayer:
    """Section 3.1: the same, but blind for what comes later, and with a look at the source."""
    return nn.DecoderLayer(
        nn.MultiHeadAttention(D, HEADS, pattern=nn.Causal()),
        nn.MultiHeadAttention(D, HEADS),  # queries from what is written, keys from what is read
        nn.FeedForward(D, D_FF),
        (residual(), residual(), residual()),
    )


def step_3_layers() -> None:
    """A layer gives what it takes, so that layers can be stacked."""
    source, target = torch.randn(2, 9, D), torch.randn(2, 4, D)
    read, written = encoder_layer()(source), decoder_layer()(target, source)
    print(f"3. layers     encoder {shape(source)} -> {shape(read)}")
    print(f"              decoder {shape(target)}, {shape(source)} -> {shape(written)}")


def build() -> nn.EncoderDecoder:
    """Figure 1. One table turns ids into vectors on both sides, and vectors into scores (3.4)."""
    table = nn.Embedding(V, D)
    letters = nn.InputLayer(table, nn.SinusoidalPositions(D))  # attention alone knows no order
    encoder = nn.Encoder(encoder_layer() for _ in range(LAYERS))
    decoder = nn.Decoder(decoder_layer() for _ in range(LAYERS))
    scores = nn.Generator(table.table)  # one number for each of V symbols: how likely it is next
    return nn.EncoderDecoder(letters, encoder, letters, decoder, scores, padding=PADDING)


def draw_words(count: int, rng: torch.Generator, shortest: int = 3) -> tuple[Tensor, Tensor]:
    """Draw words, and the same backwards: ids (B, LONGEST + 1), END behind the last letter."""
    letters = torch.randint(3, V, (count, LONGEST + 1), generator=rng)
    length = torch.randint(shortest, LONGEST + 1, (count, 1), generator=rng)
    place = torch.arange(LONGEST + 1)
    mirrored = letters.gather(1, (length - 1 - place).clamp(min=0))
    source, target = (torch.where(place < length, x, PADDING) for x in (letters, mirrored))
    return source.scatter(1, length, END), target.scatter(1, length, END)


def shift(target: Tensor) -> Tensor:
    """Give what is written before each letter: START, then all but the last."""
    return torch.cat((torch.full_like(target[:, :1], START), target[:, :-1]), dim=1)


def train(model: nn.EncoderDecoder, updates: int, rng: torch.Generator) -> None:
    """Section 5: guess every next letter at once, and be less surprised by the right ones."""
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for update in range(1, updates + 1):
        adam.param_groups[0]["lr"] = inverse_sqrt(update, d_model=D, warmup=100, factor=0.3)
        source, target = draw_words(64, rng)
        scores = model(source, shift(target))  # (B, T, V)
        loss = smoothed_cross_entropy(scores, target, smoothing=0.1, padding=PADDING)
        adam.zero_grad()
        loss.backward()
        adam.step()
        if update % (updates // 5) == 0:
            print(f"              update {update:3}: loss {loss.item():.3f} nats a letter")


@torch.inference_mode()
def write(model: nn.EncoderDecoder, source: Tensor) -> Tensor:
    """Write the likeliest letter, read it again, write the next: ids (B, T)."""
    cache = model.start(model.encode(source))  # the source is read once
    written = [torch.full((len(source), 1), START)]
    for _ in range(LONGEST + 1):
        scores, cache = model.step(written[-1], cache)  # (B, 1, V)
        written.append(scores.argmax(-1))
    return torch.cat(written[1:], dim=1)


def spell(ids: Tensor) -> str:
    """Turn ids into letters, up to END."""
    return "".join(LETTERS[i - 3] if i > END else "." for i in ids.tolist()).split(".")[0]


def shape(x: Tensor) -> tuple[int, ...]:
    """Say a shape in plain numbers."""
    return tuple(x.shape)


def main(updates: int = 500) -> float:
    """Go through all steps; give the share in [0, 1] of new words that come out right."""
    rng = torch.manual_seed(1)
    for step in (step_1_attention, step_2_heads, step_3_layers):
        step()
    model, (source, target) = build(), draw_words(2, rng)
    weights = sum(x.numel() for x in model.parameters())
    print(f"4. model      {shape(source)}, {shape(target)} -> ", end="")
    print(f"{shape(model(source, shift(target)))}; {weights:,} weights")
    print("5. training   64 words an update, drawn anew each time")
    train(model, updates, rng)
    source, target = draw_words(500, rng, shortest=LONGEST)  # of 10⁸, nearly all of them unseen
    right, found = (list(map(spell, x)) for x in (target, write(model, source)))
    print("6. writing    " + ", ".join(f"{spell(source[i])} -> {found[i]}" for i in range(3)))
    share = sum(map(str.__eq__, found, right)) / len(right)
    print(f"              {share:.1%} of {len(right)} words of {LONGEST} letters come out reversed")
    return share


if __name__ == "__main__":
    main()
