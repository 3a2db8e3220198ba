"""Makes a tiny BERT with weights by chance, as a Hugging Face folder: to try the whole of `finetune` in seconds, and for its test.

    tiny_base.py FOLDER TEXT_FILE        the vocabulary is the characters and words of the file
"""
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    folder, text = Path(sys.argv[1]), Path(sys.argv[2])
    torch.manual_seed(1)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train([str(text)], trainers.WordPieceTrainer(vocab_size=2000, special_tokens=SPECIAL, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[(name, tokenizer.token_to_id(name)) for name in SPECIAL[2:]])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                                   model_max_length=128)
    config = BertConfig(vocab_size=len(fast), hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
                        max_position_embeddings=128, pad_token_id=fast.pad_token_id)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    fast.save_pretrained(folder)


main()
