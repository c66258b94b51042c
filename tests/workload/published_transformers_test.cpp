// Published transformers: their weights by formulas from the hyperparameters in articles and released
// configurations, and by the counts of the released checkpoints.
#include <doctest/doctest.h>

#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Workload network_of(const std::string& name) { return load_model(shipped(), name).second; }

/// A layer of Llama: queries and their projection are h x h, keys and values h x kv heads; three products of
/// the gated MLP, times the experts, with a router; two RMS norms. No biases.
struct Llama {
  double layers, h, heads, kv, ffn, vocab;
  double experts = 1, used = 1;
  double block(double mlps) const {
    const double router = experts > 1 ? h * experts : 0;
    return 2 * h * h + 2 * h * (h / heads * kv) + 3 * h * ffn * mlps + router + 2 * h;
  }
  double weights() const { return 2 * vocab * h + layers * block(experts) + h; }
  double used_by_a_token() const { return 2 * vocab * h + layers * block(used) + h; }
};

/// Encoder and decoder of T5 v1.0: projections of heads x size channels, an MLP of two products with ReLU,
/// RMS norms, one table of 32 relative distances a head in each half, one table of words for both and the
/// logits.
struct T5 {
  double layers, h, heads, size, ffn, vocab = 32128;
  double weights() const {
    const double attention = 4 * h * heads * size, mlp = 2 * h * ffn;
    const double encoder = layers * (attention + mlp + 2 * h) + 32 * heads + h;
    const double decoder = layers * (2 * attention + mlp + 3 * h) + 32 * heads + h;
    return vocab * h + encoder + decoder;
  }
};

/// Patches with a bias, a class token, positions, pre-norm layers with biases, a norm and a head.
double vit_weights(double layers, double h, double patch, double classes = 1000) {
  const double tokens = (224 / patch) * (224 / patch) + 1;
  const double block = 4 * h * h + 4 * h + 8 * h * h + 5 * h + 4 * h;
  return patch * patch * 3 * h + h + h + tokens * h + layers * block + 2 * h + h * classes + classes;
}

}  // namespace

TEST_CASE("Llama 2 and 3: formula, released checkpoint and model file have the same weights") {
  struct Row {
    const char* name;
    Llama numbers;
    double released;  // parameters of the checkpoints, as their model cards count them
    double seq;
  };
  // Touvron et al., Llama 2 (2023), and the released configurations (hidden_size, num_attention_heads,
  // num_key_value_heads, intermediate_size, vocab_size 32000, context 4096); Grattafiori et al., The Llama 3
  // herd of models (2024), table 3 (vocab_size 128256; pre-trained with 8192 tokens). No tied embeddings.
  const Row rows[] = {
      {"llama2-7b", {32, 4096, 32, 32, 11008, 32000}, 6'738'415'616, 4096},
      {"llama2-13b", {40, 5120, 40, 40, 13824, 32000}, 13'015'864'320, 4096},
      {"llama2-70b", {80, 8192, 64, 8, 28672, 32000}, 68'976'648'192, 4096},
      {"llama3-8b", {32, 4096, 32, 8, 14336, 128256}, 8'030'261'248, 8192},
      {"llama3-70b", {80, 8192, 64, 8, 28672, 128256}, 70'553'706'496, 8192},
      {"llama3-405b", {126, 16384, 128, 8, 53248, 128256}, 405'853'388'800, 8192},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Workload work = network_of(row.name);
    CHECK(row.numbers.weights() == row.released);
    CHECK(work.parameters() == row.released);
    CHECK(work.input.positions() == row.seq);
    int rotary = 0, rms = 0, gates = 0, norms = 0, biases = 0, tied = 0;
    for (const Layer& l : work.layers) {
      rotary += l.op == Op::rotary, rms += l.op == Op::rms_norm, gates += l.op == Op::gate;
      norms += l.op == Op::layer_norm || l.op == Op::dropout || l.op == Op::position;
      biases += l.op == Op::fc && l.bias, tied += l.tied >= 0;
      if (l.op != Op::attention) continue;
      CHECK(l.causal);
      CHECK(l.query_heads == row.numbers.heads);
      CHECK(l.heads == row.numbers.kv);
    }
    CHECK(rotary == row.numbers.layers);
    CHECK(gates == row.numbers.layers);
    CHECK(rms == 2 * row.numbers.layers + 1);
    CHECK((norms == 0 && biases == 0 && tied == 0));
    // Products of one token: every weight of a product once (not the table, nor the norms), and scores.
    const Llama& n = row.numbers;
    const double products = n.weights() - n.vocab * n.h - n.layers * 2 * n.h - n.h;
    CHECK(work.macs() == row.seq * products + n.layers * 2 * row.seq * row.seq * n.h);
  }
}

TEST_CASE("Mixtral 8x7B: 46.7 G weights, 12.9 G of them used for each token") {
  // Jiang et al., Mixtral of experts (2024), table 1: dim 4096, 32 layers, head_dim 128, hidden_dim 14336, 32
  // heads, 8 of keys and values, vocab 32000, 8 experts, 2 for each token.
  const Llama numbers{32, 4096, 32, 8, 14336, 32000, 8, 2};
  const Workload work = network_of("mixtral-8x7b");
  CHECK(numbers.weights() == 46'702'792'704);  // safetensors of the released checkpoint
  CHECK(work.parameters() == numbers.weights());
  CHECK(numbers.used_by_a_token() == 12'879'925'248);
  // The products of a token are those weights, without the table of words and the norms.
  const double s = 4096, norms = 32 * 2 * 4096 + 4096;
  CHECK(work.macs() == s * (numbers.used_by_a_token() - 32000.0 * 4096 - norms) + 32 * 2 * s * s * 4096);
}

TEST_CASE("T5: formula and released checkpoint have the same weights") {
  // Raffel et al. (2019), section 3.7 and 2.1, and the released configurations (d_model, num_heads, d_kv,
  // d_ff).
  const auto check = [](const char* name, const T5& numbers, double released) {
    CAPTURE(name);
    CHECK(numbers.weights() == released);
    CHECK(network_of(name).parameters() == released);
  };
  check("t5-small", {6, 512, 8, 64, 2048}, 60'506'624);
  check("t5-base", {12, 768, 12, 64, 3072}, 222'903'552);
  check("t5-large", {24, 1024, 16, 64, 4096}, 737'668'096);
  check("t5-3b", {24, 1024, 32, 128, 16384}, 2'851'598'336);
  check("t5-11b", {24, 1024, 128, 128, 65536}, 11'307'321'344);
}

TEST_CASE("an encoder-decoder: each half has its own length, and the decoder reads the encoder") {
  const double h = 768, s = 512, t = 114, L = 12;
  const Workload work = network_of("t5-base");
  const double encoder = L * (s * (4 * h * h + 8 * h * h) + 2 * s * s * h);
  // The decoder's queries and projections run over the target, keys and values of the cross attention over
  // the source.
  const double decoder =
      L * (t * (4 * h * h + 2 * h * h + 8 * h * h) + s * 2 * h * h + 2 * t * t * h + 2 * t * s * h);
  CHECK(work.macs() == encoder + decoder + t * 32128 * h);
}

TEST_CASE("ViT-L/16 and ViT-H/14: the formula and torchvision have the same weights") {
  // Dosovitskiy et al. (2020), table 1: 24 layers of 1024 and 16 heads; 32 layers of 1280 and 16 heads.
  CHECK(vit_weights(12, 768, 16) == 86'567'656);
  CHECK(vit_weights(24, 1024, 16) == 304'326'632);
  CHECK(vit_weights(32, 1280, 14) == 632'045'800);
  CHECK(network_of("vit-l-16").parameters() == 304'326'632);
  CHECK(network_of("vit-h-14").parameters() == 632'045'800);
  CHECK(network_of("vit-l-16").macs() / 1e9 == doctest::Approx(61.55).epsilon(0.0001));  // its "GFLOPS"
}

TEST_CASE("every optional parameter has its effect, in each family") {
  const auto weights = [](const std::string& name) { return network_of(name).parameters(); };
  for (const std::string family : {"gpt", "bert", "llama"}) {
    CAPTURE(family);
    const std::string small = family + ":layers=2,hidden=64,heads=4,seq=16,vocab=100";
    const double b = family == "llama" ? 0 : 1;  // biases
    const double plain = weights(small + ",gated=0,ffn=256");
    // ffn: two products of 64 x 32 less each layer
    CHECK(plain - weights(small + ",gated=0,ffn=224") == 2 * (2 * 64 * 32 + b * 32));
    // kv-heads: keys and values of one head instead of four
    CHECK(plain - weights(small + ",gated=0,ffn=256,kv-heads=1") == 2 * (2 * 3 * 16 * (64 + b)));
    // gated: the first product twice as wide
    CHECK(weights(small + ",gated=1,ffn=256") - plain == 2 * (256 * (64 + b)));
    // experts: three more MLPs and a router each layer
    CHECK(weights(small + ",gated=0,ffn=256,experts=4,top-k=2") - plain ==
          2 * (3 * (2 * 64 * 256 + b * (256 + 64)) + 64 * 4));
    // top-k: as many weights, more work
    CHECK(network_of(small + ",experts=4,top-k=2").macs() > network_of(small + ",experts=4,top-k=1").macs());
    CHECK(weights(small + ",experts=4,top-k=2") == weights(small + ",experts=4,top-k=1"));
    // `_` and `-` are the same
    CHECK(weights(small + ",kv_heads=1,top_k=1") == weights(small + ",kv-heads=1,top-k=1"));
  }
  const std::string numbers = ":layers=2,hidden=64,heads=4,seq=16,vocab=100";
  for (const std::string family : {"gpt", "llama"})  // tied: the logits have no weights of their own
    CHECK(weights(family + numbers + ",tied=0") - weights(family + numbers + ",tied=1") == 6400);
  // BERT has logits only where its masked-language head is asked for: a product, a norm, and a bias a word.
  CHECK(weights("bert" + numbers + ",tied=1") == weights("bert" + numbers));
  CHECK(weights("bert" + numbers + ",mlm=1,tied=0") - weights("bert" + numbers + ",mlm=1,tied=1") == 6400);
  CHECK(weights("bert" + numbers + ",mlm=1") - weights("bert" + numbers) == 2 * 64 + 100);  // no pooler then
  CHECK(weights("bert:mlm=1") == 109'514'298);  // Hugging Face, BertForMaskedLM
}

TEST_CASE("impossible parameters are refused by name") {
  const auto refused = [](const std::string& name) { return complaint([&] { network_of(name); }); };
  for (const std::string family : {"gpt", "bert", "llama", "t5"}) {
    CAPTURE(family);
    CHECK(says(refused(family + ":layers=0"), "leaves no layers"));
  }
  CHECK(says(refused("gpt:experts=4,top-k=0"), "`top-k` is 0"));
  CHECK(says(refused("gpt:experts=4,capacity=0"), "`capacity` is 0"));
  CHECK(says(refused("gpt:experts=4,top-k=5"), "5"));
  CHECK_FALSE(refused("gpt:heads=5").empty());      // does not divide 768 channels
  CHECK_FALSE(refused("gpt:kv-heads=5").empty());   // do not divide 12
  CHECK_FALSE(refused("gpt:kv-heads=24").empty());  // more than there are heads
  CHECK_FALSE(refused("gpt:hidden=0").empty());
  CHECK_FALSE(refused("gpt:vocab=0").empty());
  CHECK_FALSE(refused("gpt:seq=0").empty());
  for (const std::string name : {"hidden", "ffn", "seq", "vocab"}) {
    CAPTURE(name);
    CHECK(says(refused("gpt:" + name + "=0"), "`" + name + "` is 0"));
    CHECK(says(refused("gpt:" + name + "=3000000000"), "3000000000"));
  }
  CHECK(says(refused("gpt:top-k=3"), "`top-k` is 3"));
  CHECK(says(refused("gpt:top-k=3"), "it must be at most 1 with experts=0"));
  CHECK(says(refused("gpt:moe=0,experts=4"), "`moe` is not a parameter"));
  CHECK(says(refused("gpt:gated=2"), "`gated` is 2"));
  CHECK(says(refused("gpt:gated=2"), "it must be at most 1"));
  CHECK(says(refused("llama:tied=2"), "`tied` is 2"));
  CHECK(says(refused("bert:mlm=3"), "`mlm` is 3"));
  CHECK_FALSE(refused("gpt:layers=-1").empty());
  CHECK_FALSE(refused("gpt:experts=-1").empty());
}
