// SPDX-License-Identifier: Apache-2.0
// Expressions are facts about published tokenizers (their tokenizer.json); the source column names
// one. Where a published expression says (?i:…) for English contractions, the letters are spelled
// out: Unicode case folding would also match U+017F and U+212A, which the reference data does not.
#include "text/pretokenizer_table.h"

namespace pawl::text {
namespace {

// Parts that many expressions share. Macros, since literals are joined at compile time.
#define CONTRACTION "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
#define LOWER_CONTRACTION "'(?:[stmd]|re|ve|ll)"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 LOWER_CONTRACTION "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define WORD "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SYMBOLS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
// NUMBERS is what takes those.
#define LLAMA3(NUMBERS) CONTRACTION "|" WORD "|" NUMBERS "|" SYMBOLS "|" SPACES
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
// The same without Han, as complements: PCRE2 has no difference of classes.
#define UPPER_NO_HAN "[^\\p{Ll}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{sc:Han}]"
#define LOWER_NO_HAN "[^\\p{Lu}\\p{Lt}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{sc:Han}]"
#define GPT4O(NUMBERS)                                         \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+(?:" CONTRACTION  \
  ")?"                                                         \
  "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*(?:" CONTRACTION \
  ")?"                                                         \
  "|" NUMBERS "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES
#define HAN_KANA "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
// What ends in symbols; what may follow these differs.
#define DEEPSEEK3 \
  "[!-/:-@\\[-`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+"
#define EAST_ASIAN "[\\x{4E00}-\\x{9FA5}\\x{0800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"

// The letters with case that DeepSeek LLM lists one by one; not all that Unicode has.
#define CASED                                                                             \
  "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}"          \
  "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}"  \
  "\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}"           \
  "\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}"                \
  "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}"          \
  "\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}"          \
  "\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}" \
  "\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}"  \
  "\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}"          \
  "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}"           \
  "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}"            \
  "\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}" \
  "\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}"  \
  "\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"           \
  "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}"          \
  "\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}"        \
  "\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}"  \
  "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"

constexpr Cut kGpt2[] = {{GPT2}};
constexpr Cut kDigitsThenGpt2[] = {{"\\p{N}"}, {GPT2}};
constexpr Cut kDefault[] = {{"[\\p{P}$+<=>^~|]+"}, {GPT2}, {"\\p{N}+"}, {"[0-9][0-9][0-9]"}};
constexpr Cut kFalcon[] = {{"[\\p{P}$+<=>^~|`]+"}, {GPT2}, {"[0-9][0-9][0-9]"}};
constexpr Cut kMiniCpm5[] = {{"\\p{N}{1,3}"}, {LLAMA3("\\p{N}+")}};
constexpr Cut kLlama3[] = {{LLAMA3("\\p{N}{1,3}")}};
// The published expression has the counts in place of the last two alternatives of Llama 3's; as a
// second cut, of pieces that are nothing but blanks, no run of them is looked at again and again.
constexpr Cut kJais2[] = {
    {LLAMA3("\\p{N}{1,3}")},
    {"(?:^(?=\\s++$)(?!\\s*[\\r\\n])|(?!^)\\G)"
     "(?:\\s{512}|\\s{256}|\\s{128}|\\s{64}|\\s{32}|\\s{16}|\\s{8}|\\s{4}|\\s{1,2})"}};
constexpr Cut kQwen2[] = {{LLAMA3("\\p{N}")}};
constexpr Cut kUfakzeka[] = {{WORD "|\\p{N}|" SYMBOLS "|" SPACES}};
constexpr Cut kLaguna[] = {{"[^\\n]+|\\n+"}, {LLAMA3("\\p{N}")}};
// Letters with their marks, a blank between two of them: published as groups within groups.
constexpr Cut kExaoneMoe[] = {{CONTRACTION
                               "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}\\p{M}*+(?: ?\\p{L}\\p{M}*+)*+|\\p{N}"
                               "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}};
constexpr Cut kQwen35[] = {
    {CONTRACTION
     "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES}};
constexpr Cut kSeedCoder[] = {{CONTRACTION "|" WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES}};
constexpr Cut kBailing[] = {
    {CONTRACTION "|" WORD "|\\p{N}|" SYMBOLS "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}};
constexpr Cut kGpt4o[] = {{GPT4O("\\p{N}{1,3}")}};
// Numbers in threes from their end, unless letters follow them.
constexpr Cut kTinyAya[] = {{"(?<!\\d)\\d++\\b", CutKind::kThreesFromEnd}, {GPT4O("\\p{N}{1,3}")}};
constexpr Cut kYoutu[] = {
    {"[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+"
     "|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}"
     "\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|" HAN_KANA},
    {GPT4O("\\p{N}")}};
constexpr Cut kTekken[] = {{"[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+"
                            "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*"
                            "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES}};
constexpr Cut kKimiK2[] = {
    {"\\p{sc:Han}+"
     "|[^\\r\\n\\p{L}\\p{N}]?" UPPER_NO_HAN "*" LOWER_NO_HAN "+(?:" CONTRACTION ")?"
     "|[^\\r\\n\\p{L}\\p{N}]?" UPPER_NO_HAN "+" LOWER_NO_HAN "*(?:" CONTRACTION ")?"
     "|\\p{N}{1,3}|" SYMBOLS "|" SPACES}};
constexpr Cut kDeepseekLlm[] = {
    {"[\\r\\n]"},
    {"\\s?[" CASED "]+"},
    {"\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+"},
    {"\\s+$"},
    {EAST_ASIAN},
    {"\\p{N}"}};
constexpr Cut kDeepseekCoder[] = {
    {"[\\r\\n]"}, {"\\s?\\p{L}+"}, {"\\s?\\p{P}+"}, {EAST_ASIAN}, {"\\p{N}"}};
constexpr Cut kDeepseekV3[] = {{"\\p{N}{1,3}"}, {HAN_KANA}, {DEEPSEEK3 "[\\r\\n]*|" SPACES}};
constexpr Cut kSpark[] = {
    {"\\p{N}{1,3}"}, {HAN_KANA}, {DEEPSEEK3 "|[\\r\\n]|\\s+(?!\\S)|\\s+"}, {"\\p{N}"}};
constexpr Cut kAfmoe[] = {
    {"\\p{N}+", CutKind::kThreesFromEnd},
    {"[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{8C48}-\\x{FAFF}\\x{3040}-\\x{30FF}\\x{FF65}-\\x{"
     "FF9F}"
     "\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{EFF}\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}"
     "\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+"},
    {DEEPSEEK3 "[\\r\\n]*|" SPACES}};
constexpr Cut kChameleon[] = {{"<sentinel:[0-9]+>"},      {"IMGIMG[A-I]{1,4}Z"},
                              {"[\\t\\n]|    |  "},       {"\\p{N}"},
                              {"[\\p{P}!-/:-@\\[-`{-~]"}, {GPT2}};
constexpr Cut kBloom[] = {{" ?[^(\\s|.,!?…。，、।۔،)]+"}};
constexpr Cut kViking[] = {{" ?[^(\\s|.,!?…。，、।۔،)]+"}, {"\\p{N}"}};
constexpr Cut kSuperBpe[] = {{"\\p{N}+"}, {"\\d+", CutKind::kThreesFromEnd}};

constexpr PretokenizerRow kRows[] = {
    {"default", kDefault, false, false, "llama.cpp, for files that name no other"},
    {"gpt-2 phi-2 mpt olmo jais jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code "
     "gigachat a.x-4.0 mellum roberta-bpe trillion granite-docling exaone4 modern-bert",
     kGpt2, false, false, "openai-community/gpt2"},
    {"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", kDigitsThenGpt2,
     false, false, "bigcode/starcoder: Digits, then ByteLevel"},
    {"falcon", kFalcon, false, false, "tiiuae/falcon-7b"},
    {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", kLlama3,
     true, true, "meta-llama/Meta-Llama-3-8B"},
    {"glm4 glm5", kLlama3, true, false, "THUDM/glm-4-9b, zai-org/GLM-5"},
    {"dbrx smaug-bpe chatglm-bpe", kLlama3, false, false, "databricks/dbrx-base, THUDM/glm-4-9b"},
    {"jais-2", kJais2, false, false, "inceptionai/Jais-2-8B-Chat"},
    {"minicpm5", kMiniCpm5, true, false, "openbmb/MiniCPM5-1B"},
    {"qwen2 deepseek-r1-qwen stablelm2 hunyuan megrez solar-open grok-2 kormo f2llmv2", kQwen2,
     false, false, "Qwen/Qwen2-7B, stabilityai/stablelm-2-1_6b"},
    {"ufakzeka", kUfakzeka, false, false, "ufakai/ufakzeka-1"},
    {"laguna", kLaguna, false, false, "poolside/Laguna-XS.2"},
    {"qwen35", kQwen35, false, false, "Qwen/Qwen3.5"},
    {"seed-coder", kSeedCoder, false, false, "ByteDance-Seed/Seed-Coder-8B-Base"},
    {"bailingmoe bailingmoe2 llada-moe", kBailing, false, false, "inclusionAI/Ling-lite"},
    {"exaone-moe", kExaoneMoe, false, false, "LGAI-EXAONE/K-EXAONE-236B-A23B"},
    {"gpt-4o llama4 minimax-m2 kanana2 talkie", kGpt4o, false, false,
     "tiktoken o200k_base, Xenova/gpt-4o"},
    {"granite-embed-multi-97m", kGpt4o, true, false,
     "ibm-granite/granite-embedding-97m-multilingual-r2"},
    {"tiny_aya cohere2moe", kTinyAya, false, false, "CohereLabs/tiny-aya-base"},
    {"youtu", kYoutu, true, false, "tencent/Youtu-LLM-2B"},
    {"tekken", kTekken, true, true, "mistralai/Mistral-Nemo-Base-2407"},
    {"kimi-k2", kKimiK2, false, false, "moonshotai/Kimi-K2-Instruct"},
    {"deepseek-llm", kDeepseekLlm, false, false, "deepseek-ai/deepseek-llm-7b-base"},
    {"deepseek-coder", kDeepseekCoder, false, false, "deepseek-ai/deepseek-coder-6.7b-base"},
    {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", kDeepseekV3, false, false,
     "deepseek-ai/DeepSeek-V3"},
    {"spark2_5", kSpark, false, false, "XHToken/Spark-X2.5-1.7B"},
    {"afmoe", kAfmoe, false, false, "arcee-ai/Trinity-Tokenizer"},
    {"chameleon", kChameleon, false, true, "facebook/chameleon-7b"},
    {"bloom poro-chat gpt3-finnish", kBloom, false, false, "bigscience/bloom"},
    {"viking", kViking, false, false, "LumiOpen/Viking-7B"},
    {"superbpe", kSuperBpe, false, false, "UW/OLMo2-8B-SuperBPE"},
};

// Cut texts otherwise, and merge characters where the others merge bytes.
constexpr std::string_view kOfCharacters = "gemma4 granite-embed-multi-311m sarvam-moe whitespace";

#undef CONTRACTION
#undef LOWER_CONTRACTION
#undef SPACES
#undef GPT2
#undef WORD
#undef SYMBOLS
#undef UPPER
#undef LOWER
#undef UPPER_NO_HAN
#undef LOWER_NO_HAN
#undef HAN_KANA
#undef EAST_ASIAN
#undef GPT4O
#undef LLAMA3
#undef DEEPSEEK3
#undef CASED

bool has_name(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t space = names.find(' ');
    if (names.substr(0, space) == name) return true;
    if (space == std::string_view::npos) return false;
    names.remove_prefix(space + 1);
  }
  return false;
}

}  // namespace

const PretokenizerRow* find_pretokenizer(std::string_view name) {
  for (const PretokenizerRow& row : kRows) {
    if (has_name(row.names, name)) return &row;
  }
  return nullptr;
}

bool merges_characters(std::string_view name) {
  return has_name(kOfCharacters, name);
}

std::string pretokenizer_names() {
  std::string names;
  for (const PretokenizerRow& row : kRows) {
    if (!names.empty()) names += ' ';
    names += row.names;
  }
  return names;
}

}  // namespace pawl::text
