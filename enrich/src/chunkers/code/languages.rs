//! The languages that have a grammar, and what the nodes of their trees stand for.

use std::sync::OnceLock;

use tree_sitter::Language as Grammar;

/// A language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    C,
    Cpp,
    Go,
    Java,
    JavaScript,
    Python,
    Rust,
    TypeScript,
    Tsx,
}

/// What a node of a tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Other,
    Comment,
    /// Stands above a definition and belongs to it, as Rust's `#[derive]`.
    Attribute,
    Function,
    Type,
    Macro,
    /// Gives names to what is in it and is no definition of its own: a module, a namespace.
    Scope,
    /// A definition if its value is a function.
    Variable,
    /// The definition in it reaches as far as it does: a decorated one, an exported one.
    Wrapper,
    /// A wrapper if it holds one thing alone.
    Group,
    Call,
}

impl Language {
    const ALL: [Self; 9] = [
        Self::C,
        Self::Cpp,
        Self::Go,
        Self::Java,
        Self::JavaScript,
        Self::Python,
        Self::Rust,
        Self::TypeScript,
        Self::Tsx,
    ];

    /// The language of a code block's info string or of a file's extension.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "c" | "h" => Self::C,
            "cpp" | "c++" | "cc" | "cxx" | "hpp" | "hh" | "hxx" | "cu" | "cuda" => Self::Cpp,
            "go" | "golang" => Self::Go,
            "java" => Self::Java,
            "javascript" | "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "python" | "py" | "pyi" => Self::Python,
            "rust" | "rs" => Self::Rust,
            "typescript" | "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            _ => return None,
        })
    }

    /// Its name in entries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Go => "go",
            Self::Java => "java",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::TypeScript | Self::Tsx => "typescript",
        }
    }

    /// What stands between a type's name and that of its method.
    pub fn separator(self) -> &'static str {
        match self {
            Self::C | Self::Cpp | Self::Rust => "::",
            _ => ".",
        }
    }

    /// Whether lines that begin with `#` are for the preprocessor.
    pub fn has_preprocessor(self) -> bool {
        matches!(self, Self::C | Self::Cpp)
    }

    pub fn grammar(self) -> Grammar {
        match self {
            Self::C => tree_sitter_c::LANGUAGE,
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        }
        .into()
    }

    /// The roles of its nodes, by the number of their kind.
    pub fn roles(self) -> &'static [Role] {
        static ROLES: OnceLock<Vec<Vec<Role>>> = OnceLock::new();
        let all = ROLES.get_or_init(|| Self::ALL.iter().map(|one| one.read_roles()).collect());
        let at = Self::ALL.iter().position(|one| *one == self);
        at.and_then(|at| all.get(at)).map_or(&[], Vec::as_slice)
    }

    fn read_roles(self) -> Vec<Role> {
        let grammar = self.grammar();
        let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
        let role = |number: u16| {
            let kind = grammar.node_kind_for_id(number);
            kind.filter(|_| grammar.node_kind_is_named(number))
                .map_or(Role::Other, |kind| self.role(kind))
        };
        (0..count).map(role).collect()
    }

    fn role(self, kind: &str) -> Role {
        match (self, kind) {
            (_, "comment" | "line_comment" | "block_comment") => Role::Comment,
            (_, "call_expression" | "call" | "new_expression") => Role::Call,
            (Self::C | Self::Cpp, kind) => c_role(kind),
            (Self::Go, kind) => go_role(kind),
            (Self::Java, kind) => java_role(kind),
            (Self::Python, kind) => python_role(kind),
            (Self::Rust, kind) => rust_role(kind),
            (Self::JavaScript | Self::TypeScript | Self::Tsx, kind) => script_role(kind),
        }
    }
}

fn c_role(kind: &str) -> Role {
    match kind {
        "function_definition" | "inline_method_definition" => Role::Function,
        "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier"
        | "alias_declaration" | "concept_definition" => Role::Type,
        "namespace_definition" => Role::Scope,
        "declaration" | "type_definition" | "template_declaration" | "field_declaration" => {
            Role::Wrapper
        }
        _ => Role::Other,
    }
}

fn go_role(kind: &str) -> Role {
    match kind {
        "function_declaration" | "method_declaration" => Role::Function,
        "type_spec" | "type_alias" => Role::Type,
        "type_declaration" => Role::Group,
        _ => Role::Other,
    }
}

fn java_role(kind: &str) -> Role {
    match kind {
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            Role::Function
        }
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration" => Role::Type,
        "method_invocation" | "object_creation_expression" => Role::Call,
        _ => Role::Other,
    }
}

fn python_role(kind: &str) -> Role {
    match kind {
        "function_definition" => Role::Function,
        "class_definition" => Role::Type,
        "decorated_definition" => Role::Wrapper,
        _ => Role::Other,
    }
}

fn rust_role(kind: &str) -> Role {
    match kind {
        "function_item" => Role::Function,
        "struct_item" | "enum_item" | "union_item" | "trait_item" | "impl_item" | "type_item" => {
            Role::Type
        }
        "macro_definition" => Role::Macro,
        "mod_item" => Role::Scope,
        "attribute_item" => Role::Attribute,
        "macro_invocation" => Role::Call,
        _ => Role::Other,
    }
}

fn script_role(kind: &str) -> Role {
    match kind {
        "function_declaration" | "generator_function_declaration" | "method_definition" => {
            Role::Function
        }
        "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration" => Role::Type,
        "internal_module" | "module" => Role::Scope,
        "variable_declarator"
        | "assignment_expression"
        | "public_field_definition"
        | "field_definition" => Role::Variable,
        "export_statement" | "expression_statement" => Role::Wrapper,
        "lexical_declaration" | "variable_declaration" => Role::Group,
        _ => Role::Other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_language_has_its_definitions() {
        for language in Language::ALL {
            for wanted in [Role::Comment, Role::Function, Role::Type, Role::Call] {
                assert!(language.roles().contains(&wanted), "{language:?}");
            }
        }
    }

    #[test]
    fn languages_are_known_by_what_convert_calls_them() {
        assert_eq!(Language::named("tsx"), Some(Language::Tsx));
        assert_eq!(Language::named("H"), Some(Language::C));
        assert_eq!(Language::named("yaml"), None);
    }
}
