//! Replies in which a model speaks of itself instead of the matter.

/// How they begin, in lower case.
const BEGINNINGS: [&str; 14] = [
    "i'm sorry",
    "i’m sorry",
    "i am sorry",
    "sorry,",
    "i cannot",
    "i can't",
    "i can’t",
    "as an ai ",
    "as an ai,",
    "抱歉",
    "对不起",
    "很遗憾",
    "我无法",
    "我不能",
];
/// "As a", of a model where one of these words follows soon.
const AS_A: &str = "作为一个";
const MODELS: [&str; 5] = ["ai", "人工智能", "语言模型", "大模型", "助手"];
/// Characters in which it is told.
const LOOKED_AT: usize = 24;

/// Whether a reply speaks of the model, which apologises, instead of what it was asked for.
pub fn speaks_of_itself(reply: &str) -> bool {
    let beginning: String = reply.trim().chars().take(LOOKED_AT).collect();
    let beginning = beginning.to_lowercase();
    let as_a = beginning.strip_prefix(AS_A);
    BEGINNINGS.iter().any(|known| beginning.starts_with(known))
        || as_a.is_some_and(|after| MODELS.iter().any(|word| after.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apologies_are_told_from_texts() {
        for reply in [
            "I'm sorry, but I cannot help with that.",
            " Sorry, no.",
            "As an AI model, I have no opinion",
            "抱歉，我无法回答",
            "作为一个AI语言模型，我不能",
            "作为一个人工智能助手",
        ] {
            assert!(speaks_of_itself(reply), "{reply}");
        }
        for text in [
            "",
            "Sorry states are entered by `panic`.",
            "作为一个分布式系统，它保存三份副本",
            "As an aid to readers, tables come first",
        ] {
            assert!(!speaks_of_itself(text), "{text}");
        }
    }
}
