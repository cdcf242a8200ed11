import { importResults } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import {
  array,
  int32,
  int64,
  optional,
  type Static,
  type TProperties,
  stringEnum,
  text,
} from '../../schema.js'

const outcomeFields = {
  result: stringEnum(importResults, { description: 'known: it was there already' }),
  code: optional(int32({ description: 'the code of the refusal; only with failed' })),
  reason: optional(text('why it is not stored; only with failed')),
}

function imported<const P extends TProperties>(title: string, what: string, fields: P) {
  return resource(title, `The result of one imported ${what}.`, { ...fields, ...outcomeFields })
}

/** The result of one group. */
export const ImportedGroup = imported('ImportedGroup', 'group', {
  external_id: text('the external_id as it was sent'),
  group_id: optional(int64({ description: 'group ID; absent with failed' })),
})
/** A result; a list of them is in the order of the items. */
export type ImportedGroup = Static<typeof ImportedGroup>

/** Data of /operator/v1/group/import. */
export const ImportedGroups = resource('ImportedGroups', 'The results of an import of groups.', {
  results: array(ImportedGroup, { description: 'in the order of the items' }),
})

/** The result of one message. */
export const ImportedMessage = imported('ImportedMessage', 'message', {
  external_id: text('the external_id as it was sent'),
  msg_id: optional(int64({ description: 'message ID; absent with failed' })),
  left_out: optional(
    array(text('a part and the reason, for example "reply_to: …"'), {
      description: 'what the stored message lacks; absent: nothing',
    }),
  ),
})
/** A result; a list of them is in the order of the items. */
export type ImportedMessage = Static<typeof ImportedMessage>

/** Data of /operator/v1/message/import. */
export const ImportedMessages = resource(
  'ImportedMessages',
  'The results of an import of messages.',
  { results: array(ImportedMessage, { description: 'in the order of the items' }) },
)

/** An imported message as it is now. */
export const FoundImportedMessage = resource('FoundImportedMessage', 'An imported message.', {
  external_id: text('the ID in the other system'),
  msg_id: int64({ description: 'message ID' }),
  seq: int64({ description: 'position in its conversation' }),
  sender_id: int64({ description: 'the sender' }),
  group_id: optional(int64({ description: 'the group; absent in a direct conversation' })),
  peer_id: optional(int64({ description: 'the other user of a direct conversation' })),
  created_at: instant('when it was sent'),
  content_type: int32({ description: 'what it holds, as in /message/send' }),
  content: text('message content'),
  attachment: text('attachment'),
  config: text('a JSON object with options, such as mentions, as in /message/send'),
  ext: text('extension data'),
  reply_to: optional(int64({ description: 'message ID of the original; absent: no reply' })),
})
/** An imported message as it is now. */
export type FoundImportedMessage = Static<typeof FoundImportedMessage>

/** Data of /operator/v1/message/imported. */
export const FoundImportedMessages = resource(
  'FoundImportedMessages',
  'Imported messages by their external IDs.',
  { messages: array(FoundImportedMessage, { description: 'those that were found' }) },
)

/** The result of one member. */
export const ImportedMember = imported('ImportedMember', 'member', {
  user_id: int64({ description: 'the user' }),
  group_id: optional(int64({ description: 'the group' })),
  peer_id: optional(int64({ description: 'the other user' })),
})
/** A result; a list of them is in the order of the items. */
export type ImportedMember = Static<typeof ImportedMember>

/** Data of /operator/v1/member/import. */
export const ImportedMembers = resource('ImportedMembers', 'The results of an import of members.', {
  results: array(ImportedMember, { description: 'in the order of the items' }),
})

/** An import from another system. */
export const ImportSource = resource('ImportSource', 'What was imported under one source.', {
  source: text('the source'),
  groups: int64({ description: 'number of groups' }),
  messages: int64({ description: 'number of messages' }),
  started_at: instant('the first call'),
  updated_at: instant('the last call that stored something'),
  finished_at: instant('when it was finished; 0: it is unfinished'),
})
/** An import from another system. */
export type ImportSource = Static<typeof ImportSource>

/** Data of /operator/v1/import/status. */
export const ImportStatus = resource('ImportStatus', 'The imports of an application.', {
  sources: array(ImportSource, { description: 'by source' }),
})
