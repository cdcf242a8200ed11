/** Scopes of Admin tokens. An operation names those that it needs by what it reaches (rule C8). */

/** Each scope with a sentence on what it reaches at most. */
export const scopes = {
  'users:read':
    'Reads profiles, settings, devices, contacts and online states of all users. No messages and no tokens.',
  'users:write':
    'Changes, disables, kicks and deletes users, and changes their settings, devices and contacts as they could. Gives no token, sets no password, and directs no pushes of messages to another device.',
  'tokens:issue':
    'Registers users, sets passwords, and gives and ends tokens of users. With the token of a user it reaches all that the user does, messages included.',
  'messages:read':
    'Reads the messages, files and conversations of every user and group, and follows the events of any user over the socket. Changes nothing.',
  'messages:send':
    'Sends as any user and as the system, uploads files of chats, edits and recalls all messages, marks them as read, and pins and deletes conversations. Reads no message.',
  groups:
    'Does in every group what its owner does, and makes any user a member, who may then read the group with a token of its own. Reads announcements and the list of files, and no message.',
  push: 'Sends notifications with any text to any device, and reads the counts and traces of pushes. Reads no message and no certificate.',
  app: 'Reads push certificates with their secrets. Together with messages:read: webhooks and the log of events, which tell all that happens in the application.',
} as const

/** A scope of an Admin token. */
export type Scope = keyof typeof scopes
/** The scopes of an Admin token; null: all, also those of later versions. */
export type Scopes = ReadonlySet<string> | null

/** The scopes, in the order of the table. */
export const scopeNames = Object.keys(scopes) as readonly Scope[]
/** The scopes as operators write them; `all` stands alone and also means those of later versions. */
export const scopeWords = [...scopeNames, 'all'] as const

/** @returns the first needed scope that the token lacks, or null */
export function missingScope(needed: readonly Scope[], scopes: Scopes): Scope | null {
  if (scopes === null) return null
  for (const scope of needed) if (!scopes.has(scope)) return scope
  return null
}

/** @param words scopes, or `all` alone */
export function scopesOf(words: readonly string[]): Scopes {
  return words.includes('all') ? null : new Set(words)
}

/** @returns the violations of a parameter `scopes` beyond the words of its schema */
export function scopeFaults({ scopes: words }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(words)) return []
  const doubled = words.find((word, index) => words.indexOf(word) !== index)
  if (doubled !== undefined) return [`scopes has ${doubled} twice`]
  return words.length > 1 && words.includes('all') ? ['scopes has all, which stands alone'] : []
}
