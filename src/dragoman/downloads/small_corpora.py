"""Small corpora: sentence pairs of Tatoeba, and the captions of Multi30k.

Tatoeba grows every week, so only releases that stay as they are can be named here. Digests, sizes
and pairs of the releases at OPUS: huggingface/datasets, ``datasets/tatoeba/dataset_infos.json``.
Digest of the English-French file: d2l-ai/d2l-en. Digests of Multi30k: of the files of commit
a3d2e0d in multi30k/dataset itself.
"""

from dragoman.downloads.record import Archive, Copy, Piece, PublicCorpus, archives_of

_ATTRIBUTION = "Creative Commons Attribution 2.0 France (CC BY 2.0 FR). Name tatoeba.org"
_TATOEBA_LICENCE = "https://creativecommons.org/licenses/by/2.0/fr/"
_OPUS_CITATION = (
    "Tiedemann 2012. Parallel Data, Tools and Interfaces in OPUS. LREC 2012. "
    "https://aclanthology.org/L12-1246"
)


def _opus(source: str, target: str, words: str, size: int, digest: str, pairs: int) -> PublicCorpus:
    pair = f"{source}-{target}"
    return PublicCorpus(
        name=f"tatoeba-{pair}",
        title=f"Tatoeba sentences, {words}; release 2021-07-22 at OPUS",
        source_language=source,
        target_language=target,
        licence=f"{_ATTRIBUTION} and OPUS.",
        licence_url=_TATOEBA_LICENCE,
        homepage="https://opus.nlpl.eu/Tatoeba/corpus/version/Tatoeba",
        citation=_OPUS_CITATION,
        archives=(
            Archive(
                name=f"tatoeba-{pair}",
                copies=(
                    Copy(
                        urls=(
                            f"https://object.pouta.csc.fi/OPUS-Tatoeba/v2021-07-22/moses/{pair}.txt.zip",
                        ),
                        size=size,
                        digest=digest,
                        digest_from="huggingface/datasets, datasets/tatoeba/dataset_infos.json",
                        packing="zip",
                    ),
                ),
            ),
        ),
        train=(
            Piece(
                archive=f"tatoeba-{pair}",
                source=f"Tatoeba.{pair}.{source}",
                target=f"Tatoeba.{pair}.{target}",
                pairs=pairs,
            ),
        ),
        one_in=100,
        text_bytes=8 * size,
    )


TATOEBA = (
    _opus(
        "en",
        "mr",
        "English and Marathi",
        1_436_200,
        "1c8fd9b0cb767ea74f65f2dc82e64c0a2ca77056274ecebf24738ed26c7a13fd",
        53_462,
    ),
    _opus(
        "eo",
        "nl",
        "Esperanto and Dutch",
        3_020_382,
        "5a34a3dd219178d644a2ccb0aa2013e10288e593415ce102304d90797a12a01f",
        93_650,
    ),
    _opus(
        "es",
        "gl",
        "Spanish and Galician",
        128_506,
        "b2b6138c1a8bf940af428e5d8bdacf7d0f0ded5a2628438b9019595d8e9ecbf3",
        3_135,
    ),
    _opus(
        "es",
        "pt",
        "Spanish and Portuguese",
        2_340_361,
        "6299c6aee1c469a0b7b4c41cde861d40b62d72e2bbc0d4d86ab17e77972de352",
        67_782,
    ),
    _opus(
        "fr",
        "ru",
        "French and Russian",
        5_509_784,
        "9dac8d336158be9473be2fc0e7e6c771cdeeb9154133eb59cfbd5e310ee49ebc",
        195_161,
    ),
    PublicCorpus(
        name="tatoeba-en-fr",
        title="Tatoeba sentences, English and French, as Dive into Deep Learning keeps them",
        source_language="en",
        target_language="fr",
        licence=f"{_ATTRIBUTION} and www.manythings.org/anki.",
        licence_url=_TATOEBA_LICENCE,
        homepage="https://www.manythings.org/anki/",
        citation="Tatoeba contributors; bilingual sentence pairs of manythings.org/anki.",
        archives=(
            Archive(
                name="tatoeba-en-fr",
                copies=(
                    Copy(
                        urls=(
                            "https://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
                            "http://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
                        ),
                        algorithm="sha1",
                        digest="94646ad1522d915e7b0f9296181140edcf86a4f5",
                        digest_from="d2l-ai/d2l-en, d2l/torch.py",
                        packing="zip",
                    ),
                ),
            ),
        ),
        train=(
            Piece(
                archive="tatoeba-en-fr",
                source="fra-eng/fra.txt",
                target="fra-eng/fra.txt",
                layout="columns",
            ),
        ),
        one_in=100,
        text_bytes=32_000_000,
    ),
)

_MULTI30K = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw"
)
_MULTI30K_FILES = {
    "train.de": (637_044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"),
    "train.en": (568_929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"),
    "train.fr": (604_242, "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c"),
    "val.de": (24_681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"),
    "val.en": (21_650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"),
    "val.fr": (23_001, "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9"),
    "test_2016_flickr.de": (
        22_890,
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    ),
    "test_2016_flickr.en": (
        21_077,
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    ),
    "test_2016_flickr.fr": (
        22_310,
        "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    ),
}


def _caption_file(name: str) -> Archive:
    size, digest = _MULTI30K_FILES[name]
    return Archive(
        name=name,
        copies=(
            Copy(
                urls=(f"{_MULTI30K}/{name}.gz",),
                size=size,
                digest=digest,
                digest_from="multi30k/dataset, the files of commit a3d2e0d themselves",
                packing="gz",
            ),
        ),
    )


def _multi30k(target: str, word: str) -> PublicCorpus:
    train, validation, test = (
        Piece(
            archive=f"{name}.en",
            source=f"{name}.en",
            target_archive=f"{name}.{target}",
            target=f"{name}.{target}",
            pairs=pairs,
        )
        for name, pairs in (("train", 29_000), ("val", 1_014), ("test_2016_flickr", 1_000))
    )
    pieces = (train, validation, test)
    return PublicCorpus(
        name=f"multi30k-en-{target}",
        title=f"Multi30k, captions of pictures, English and {word}; test set of 2016",
        source_language="en",
        target_language=target,
        licence=(
            "Creative Commons Attribution - NonCommercial - ShareAlike 4.0, as its authors "
            "announced it; the repository has no licence file. Not for commercial use."
        ),
        licence_url="https://creativecommons.org/licenses/by-nc-sa/4.0/",
        homepage="https://github.com/multi30k/dataset",
        citation=(
            "Elliott et al. 2016. Multi30K: Multilingual English-German Image Descriptions. "
            "https://aclanthology.org/W16-3210"
        ),
        archives=tuple(_caption_file(name) for piece in pieces for name in archives_of(piece)),
        train=(train,),
        validation=(validation,),
        test=(test,),
        text_bytes=4_500_000,
    )


MULTI30K = (_multi30k("de", "German"), _multi30k("fr", "French"))
