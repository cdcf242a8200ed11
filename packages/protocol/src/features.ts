/**
 * Additions to the contract that earlier clients and earlier services lack, by name. The service
 * names its own in `/app/config` and in the answer to session.open; a client names its own in
 * session.open, and a session gets only what its client has named.
 */
export const features = {
  'message.updated':
    'What changes a message besides edits and recalls comes as message.updated; sessions without it get message.replaced with the whole message.',
  'changes.skipped':
    'Numbers in a row that message.changes and heads skip are one entry changes.skipped; sessions without it get change.skipped for each.',
  replies: 'Messages reply to others, and answers have quotes of the originals.',
  reactions: 'Users react to messages.',
  pinned_messages: 'Messages are pinned for all readers of a conversation.',
  streams:
    'Messages are written piece by piece. Their text comes as message.delta; sessions without it get the text once it has ended.',
} as const

/** The name of an addition. */
export type Feature = keyof typeof features

/** The names of all additions. */
export const featureNames = Object.keys(features) as readonly Feature[]
