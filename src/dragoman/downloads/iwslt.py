"""The talks of IWSLT 2017 (TED), bilingual task.

Digests at huggingface.co and pairs of each set: huggingface/datasets,
``datasets/iwslt2017/dataset_infos.json``. MD5 of the copies at WIT3: mjpost/sacrebleu,
``sacrebleu/dataset/__init__.py``.
"""

from dragoman.downloads.record import Archive, Copy, Piece, PublicCorpus

_HUB = (
    "https://huggingface.co/datasets/iwslt2017/resolve/"
    "ebd7c60d9800c2a1be010a227e5f0a2363730f7a/data/2017-01-trnted/texts"
)
_WIT3 = "https://raw.githubusercontent.com/hlt-mt/WIT3/master/archive/2017-01-trnted/texts"
_YEARS = (2010, 2011, 2012, 2013, 2014, 2015)


def _archive(source: str, target: str, *, sha256: str, size: int, md5: str) -> Archive:
    pair = f"{source}-{target}"
    where = f"{source}/{target}/{pair}.tgz"
    return Archive(
        name=f"iwslt2017-{pair}",
        copies=(
            Copy(
                urls=(f"{_HUB}/{where}",),
                size=size,
                digest=sha256,
                digest_from="huggingface/datasets, datasets/iwslt2017/dataset_infos.json",
            ),
            Copy(
                urls=(f"{_WIT3}/{where}",),
                algorithm="md5",
                digest=md5,
                digest_from="mjpost/sacrebleu, sacrebleu/dataset/__init__.py",
            ),
        ),
    )


def _piece(archive: Archive, stem: str, ending: str = "", pairs: int | None = None) -> Piece:
    pair = archive.name.removeprefix("iwslt2017-")
    source, target = pair.split("-")
    return Piece(
        archive=archive.name,
        source=f"{pair}/{stem}.{pair}.{source}{ending}",
        target=f"{pair}/{stem}.{pair}.{target}{ending}",
        layout="sgm" if ending else "tagged",
        pairs=pairs,
    )


def _corpus(
    archive: Archive, words: str, *, pairs: tuple[int, int, int], text_bytes: int
) -> PublicCorpus:
    source, target = archive.name.removeprefix("iwslt2017-").split("-")
    return PublicCorpus(
        name=archive.name,
        title=f"IWSLT 2017, TED talks, {words}; dev2010 and tst2010 to tst2015",
        source_language=source,
        target_language=target,
        licence=(
            "TED talks: Creative Commons Attribution - NonCommercial - NoDerivatives 4.0. "
            "Not for commercial use."
        ),
        licence_url="https://creativecommons.org/licenses/by-nc-nd/4.0/",
        homepage="https://sites.google.com/site/iwsltevaluation2017/TED-tasks",
        citation=(
            "Cettolo et al. 2017. Overview of the IWSLT 2017 Evaluation Campaign. IWSLT 2017, "
            "pages 2-14. https://aclanthology.org/2017.iwslt-1.1"
        ),
        archives=(archive,),
        train=(_piece(archive, "train.tags", pairs=pairs[0]),),
        validation=(_piece(archive, "IWSLT17.TED.dev2010", ".xml", pairs[1]),),
        test=tuple(_piece(archive, f"IWSLT17.TED.tst{year}", ".xml") for year in _YEARS),
        test_pairs=pairs[2],
        text_bytes=text_bytes,
    )


IWSLT = (
    _corpus(
        _archive(
            "de",
            "en",
            size=16_751_373,
            sha256="ebcd53c53c8df742437e3a0fb964772e78764c3f6d4e38df0b6a2f71abc3a8b4",
            md5="ca2b94d694150d4d6c5dc64c200fa589",
        ),
        "German and English",
        pairs=(206_112, 888, 8_079),
        text_bytes=44_428_013,
    ),
    _corpus(
        _archive(
            "en",
            "fr",
            size=27_691_674,
            sha256="1f5bd8cd242de15fb58a04af265adb8e604a7e1b805a42cb0de7dfd15447c5c6",
            md5="3cf07ebe305312b12f7f1a4d5f8f8377",
        ),
        "English and French",
        pairs=(232_825, 890, 8_597),
        text_bytes=51_248_538,
    ),
)
