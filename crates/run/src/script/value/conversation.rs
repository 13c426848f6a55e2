//! Conversations with language models: prompts that contain the earlier turns of their session.

use std::borrow::Cow;

use offered_schedule::trace::TokenEntry;
use offered_workload::prompt::PromptKey;
use offered_workload::script::{Per, Source, Variable};
use offered_workload::template::Escaping;

use super::{Fresh, MissingValue, Text, Values};
use crate::script::{RequestContext, SessionState};

/// The turns of a conversation that are complete.
#[derive(Debug, Default)]
pub(in crate::script) struct Conversation {
    /// The messages of user and assistant, as JSON objects separated by commas.
    pub(super) messages: String,
    /// The known tokens of the conversation.
    tokens: u64,
}

impl Values {
    /// The intended number of tokens of the prompts in a text; `None` without one.
    pub(in crate::script) fn prompt_tokens(
        &self,
        text: &Text,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Option<u64> {
        let tokens = |number: u16, is_later: bool| match &self.variables[usize::from(number)] {
            Variable { source: Source::Prompt(prompt), per, .. } => {
                let key = self.prompt_key(number, *per, context);
                Some(if is_later { prompt.tokens_without_prefix(key) } else { prompt.tokens(key) })
            }
            _ => None,
        };
        let all = text.variables().filter_map(|number| match &self.variables[usize::from(number)].source {
            Source::Conversation(user) => {
                let before = state.and_then(|state| state.conversations.get(&number));
                Some(tokens(self.number(user)?, before.is_some())? + before.map_or(0, |before| before.tokens))
            }
            _ => tokens(number, false),
        });
        all.reduce(|one, other| one + other)
    }

    /// The numbers of the variables in a text that are conversations.
    pub(in crate::script) fn conversations(&self, text: &Text) -> Vec<u16> {
        let is_one = |number: &u16| matches!(self.variables[usize::from(*number)].source, Source::Conversation(_));
        text.variables().filter(is_one).collect()
    }

    /// Which prompt `variable` has for this request.
    pub(super) fn prompt_key(&self, variable: u16, per: Per, context: RequestContext) -> PromptKey<'_> {
        let draw = self.draw_index(per, context);
        PromptKey { seed: self.seed, variable, session: context.session, draw, entry: self.entry(context) }
    }

    /// The entry of the replayed trace for this request.
    pub(super) fn entry(&self, context: RequestContext) -> Option<TokenEntry<'_>> {
        self.trace.as_ref()?.tokens(context.session, context.step)
    }

    /// The number of the variable `name`.
    fn number(&self, name: &str) -> Option<u16> {
        self.variables.iter().position(|variable| variable.name == name).map(|number| number as u16)
    }

    /// The message of the user whose text is the value of variable `user`, as JSON. A later one of a conversation has no shared prefix.
    pub(super) fn user_message(
        &self,
        fresh: &Fresh,
        (user, is_later): (&str, bool),
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<String, MissingValue> {
        let number = self.number(user).ok_or_else(|| MissingValue::Value(format!("there is no variable {user}")))?;
        let text = match &self.variables[usize::from(number)] {
            Variable { source: Source::Prompt(prompt), per, .. } if is_later => {
                let text = prompt.text_without_prefix(self.prompt_key(number, *per, context));
                Cow::Owned(text.map_err(MissingValue::Value)?)
            }
            _ => self.value(fresh, number, 0, context, state)?,
        };
        Ok(format!("{{\"role\":\"user\",\"content\":\"{}\"}}", Escaping::Json.apply(&text)))
    }

    /// Adds a turn to the conversation of variable `number`: the message of the user, and the text of the response, as between quotes in JSON.
    /// All turns have this number of tokens now.
    pub(in crate::script) fn add_turn(
        &self,
        number: u16,
        context: RequestContext,
        text: &str,
        tokens: Option<u64>,
        state: &mut SessionState,
    ) {
        let Source::Conversation(user) = &self.variables[usize::from(number)].source else { return };
        let is_later = state.conversations.contains_key(&number);
        let message = self.user_message(&Fresh::default(), (user, is_later), context, Some(state));
        let Ok(message) = message else { return };
        let conversation = state.conversations.entry(number).or_default();
        if !conversation.messages.is_empty() {
            conversation.messages.push(',');
        }
        conversation.messages += &format!("{message},{{\"role\":\"assistant\",\"content\":\"{text}\"}}");
        conversation.tokens = tokens.unwrap_or(conversation.tokens);
    }
}
