"""The news translation task of WMT 2014, as "Attention Is All You Need" used it (section 5.1).

Digests of the copies at statmt.org: tensorflow/datasets, ``url_checksums/wmt14_translate.txt`` and
``wmt15_translate.txt``. Of the copies at huggingface.co: huggingface/datasets,
``datasets/wmt14/dataset_infos.json``. Pairs: the raw counts that users of the corpora published,
1,920,209, 2,399,123 and 201,288 for the parts of German (together 4,520,620) and 40,842,333 for
French. ``dataset_infos.json`` has 4,508,785 and 40,836,715, without pairs that have a blank side.
"""

from dragoman.downloads.record import Archive, Copy, Piece, PublicCorpus

_TENSORFLOW = "tensorflow/datasets, tensorflow_datasets/url_checksums/wmt14_translate.txt"
_TENSORFLOW_15 = "tensorflow/datasets, tensorflow_datasets/url_checksums/wmt15_translate.txt"
_HUGGING_FACE = "huggingface/datasets, datasets/wmt14/dataset_infos.json"


def _archive(
    name: str,
    statmt: tuple[str, int, str],
    hugging_face: tuple[str, int, str],
    digest_from: str = _TENSORFLOW,
) -> Archive:
    """Put the two copies of one archive together: address, size and SHA-256 of each."""
    path, size, digest = statmt
    hub_path, hub_size, hub_digest = hugging_face
    return Archive(
        name=name,
        copies=(
            Copy(
                urls=(f"https://huggingface.co/datasets/wmt/{hub_path}",),
                size=hub_size,
                digest=hub_digest,
                digest_from=_HUGGING_FACE,
                packing="zip",
            ),
            Copy(urls=(f"http://{path}",), size=size, digest=digest, digest_from=digest_from),
        ),
    )


_EUROPARL = _archive(
    "europarl-v7",
    (
        "www.statmt.org/wmt13/training-parallel-europarl-v7.tgz",
        657_632_379,
        "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
    ),
    (
        "wmt13/resolve/main-zip/training-parallel-europarl-v7.zip",
        658_092_427,
        "5b2d8b32c2396da739b4e731871c597fcc6e75729becd74619d0712eecf7770e",
    ),
)
_COMMON_CRAWL = _archive(
    "commoncrawl",
    (
        "www.statmt.org/wmt13/training-parallel-commoncrawl.tgz",
        918_311_367,
        "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
    ),
    (
        "wmt13/resolve/main-zip/training-parallel-commoncrawl.zip",
        918_734_483,
        "5ffe980072ea29adfd84568d099bea366d9f72772b988e670794ae851b4e5627",
    ),
)
_NEWS_COMMENTARY = _archive(
    "news-commentary-v9",
    (
        "www.statmt.org/wmt14/training-parallel-nc-v9.tgz",
        80_418_416,
        "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
    ),
    (
        "wmt14/resolve/main-zip/training-parallel-nc-v9.zip",
        80_462_375,
        "ce199f93ec56ff480137ba29f0819f9a22e70d88be6d7458f112303d67d623d5",
    ),
)
_UNITED_NATIONS = _archive(
    "un",
    (
        "www.statmt.org/wmt13/training-parallel-un.tgz",
        2_365_634_246,
        "29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47",
    ),
    (
        "wmt13/resolve/main-zip/training-parallel-un.zip",
        2_366_237_633,
        "74f07002e053c81bc7f73b4fdab58e7987e831338748f264cbda82a8b062d2e2",
    ),
    _TENSORFLOW_15,
)
_GIGA = _archive(
    "giga-fren",
    (
        "www.statmt.org/wmt10/training-giga-fren.tar",
        2_595_102_720,
        "3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a",
    ),
    (
        "wmt10/resolve/main-zip/training-giga-fren.zip",
        2_595_877_717,
        "9439f86523e5dff3f923526dbf6c6929da1786c18dbf64436d2b7564b83aaba3",
    ),
    _TENSORFLOW_15,
)
_NEWSTESTS = _archive(
    "newstests",
    (
        "data.statmt.org/wmt19/translation-task/dev.tgz",
        38_654_961,
        "7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
    ),
    (
        "wmt19/resolve/main-zip/translation-task/dev.zip",
        38_714_274,
        "d796e363740fdc4261aa6f5a3d2f8223e3adaee7d737b7724863325b8956dfd1",
    ),
)

_LICENCE = (
    "No single licence. The organisers of WMT release the data for research and ask for the "
    "citation below; every part stays under the terms of its owners (European Parliament, Common "
    "Crawl and its web sites, Project Syndicate{more}). Other uses are between you and them. "
    "Never train on the test sets."
)
_MORE_OWNERS = ", United Nations, Canadian and European web sites"


def _lines(
    archive: Archive, stem: str, language: str, pairs: int | None = None, ending: str = ""
) -> Piece:
    return Piece(
        archive=archive.name,
        source=f"{stem}.{language}{ending}",
        target=f"{stem}.en{ending}",
        pairs=pairs,
    )


def _corpus(
    language: str,
    word: str,
    *,
    archives: tuple[Archive, ...],
    train: tuple[Piece, ...],
    train_pairs: int,
    text_bytes: int,
) -> PublicCorpus:
    stem = f"dev/newstest2014-{language}en"
    return PublicCorpus(
        name=f"wmt14-{language}-en",
        title=f"WMT 2014 news translation, {word} and English; newstest2013 and newstest2014",
        source_language=language,
        target_language="en",
        licence=_LICENCE.format(more=_MORE_OWNERS if language == "fr" else ""),
        licence_url="https://www.statmt.org/wmt14/translation-task.html",
        homepage="https://www.statmt.org/wmt14/translation-task.html",
        citation=(
            "Bojar et al. 2014. Findings of the 2014 Workshop on Statistical Machine Translation. "
            "WMT 2014, pages 12-58. https://aclanthology.org/W14-3302"
        ),
        archives=(*archives, _NEWSTESTS),
        train=train,
        train_pairs=train_pairs,
        validation=(_lines(_NEWSTESTS, "dev/newstest2013", language, 3_000),),
        test=(
            Piece(
                archive=_NEWSTESTS.name,
                source=f"{stem}-src.{language}.sgm",
                target=f"{stem}-ref.en.sgm",
                layout="sgm",
                pairs=3_003,
            ),
        ),
        text_bytes=text_bytes,
    )


WMT14 = (
    _corpus(
        "de",
        "German",
        archives=(_EUROPARL, _COMMON_CRAWL, _NEWS_COMMENTARY),
        train=(
            _lines(_EUROPARL, "training/europarl-v7.de-en", "de", 1_920_209),
            _lines(_COMMON_CRAWL, "commoncrawl.de-en", "de", 2_399_123),
            _lines(_NEWS_COMMENTARY, "training/news-commentary-v9.de-en", "de", 201_288),
        ),
        train_pairs=4_520_620,
        text_bytes=1_359_924_157,  # dataset_size in dataset_infos.json
    ),
    _corpus(
        "fr",
        "French",
        archives=(_EUROPARL, _COMMON_CRAWL, _UNITED_NATIONS, _NEWS_COMMENTARY, _GIGA),
        train=(
            _lines(_EUROPARL, "training/europarl-v7.fr-en", "fr"),
            _lines(_COMMON_CRAWL, "commoncrawl.fr-en", "fr"),
            _lines(_UNITED_NATIONS, "un/undoc.2000.fr-en", "fr"),
            _lines(_NEWS_COMMENTARY, "training/news-commentary-v9.fr-en", "fr"),
            _lines(_GIGA, "giga-fren.release2.fixed", "fr", None, ".gz"),
        ),
        train_pairs=40_842_333,
        text_bytes=14_754_138_228,  # dataset_size in dataset_infos.json
    ),
)
