import { contentType, groupType, meaningsOf, memberRole } from '../enums.js'
import { operation } from '../operation.js'
import {
  FoundImportedMessages,
  ImportedGroups,
  ImportedMembers,
  ImportedMessages,
  ImportSource,
  ImportStatus,
} from '../resources/operator/imports.js'
import {
  boolean,
  int64,
  intEnum,
  itemList,
  list,
  optional,
  strictObject,
  string,
} from '../schema.js'
import {
  appId,
  avatar,
  description,
  ext,
  groupName,
  id,
  messageText,
  messageTexts,
  operatorOperation,
  post,
  reactionKey,
} from './fields.js'

const { 2: _chatroom, 3: _temporary, ...importedTypes } = meaningsOf(groupType)
const { 2: _owner, ...importedRoles } = meaningsOf(memberRole)

const sourceForm = '1 to 64 of letters, digits, _, . and -'
const source = string({
  description: `name of the import, ${sourceForm}: external IDs are compared within it`,
  maxLength: 64,
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  form: sourceForm,
  examples: ['stream'],
})
const externalId = string({
  description: 'the ID in the other system, compared byte for byte',
  minLength: 1,
  maxLength: 255,
})
const instant = (text: string) => int64({ description: `${text}, ms`, minimum: 0 })

const whichConversation = {
  group_id: optional(id('the group; or peer_id')),
  peer_id: optional(id('the other user of a direct conversation; or group_id')),
}

/** Repeats are found by external_id alone. docs/decisions/085-message-import.md. */
export const importGroups = operation({
  ...operatorOperation,
  id: 'operator.group.import',
  methods: post,
  path: '/operator/v1/group/import',
  summary: 'Imports up to 500 groups; each succeeds or fails separately.',
  description:
    'Safe to repeat: a group that was imported before answers its group_id and stays unchanged.',
  body: {
    app_id: appId,
    source,
    groups: itemList(
      strictObject({
        external_id: externalId,
        owner_id: id('the owner, who becomes a member'),
        name: optional(groupName),
        avatar: optional(avatar),
        description: optional(description),
        ext: optional(ext),
        type: optional(intEnum(importedTypes, { description: 'default 0' })),
        history_visible: optional(
          boolean({
            description: 'members read what is older than their membership; default true',
          }),
        ),
        capacity: optional(
          int64({
            description:
              "most members, up to the application's maximum; default 2,000; grows with imported members",
            minimum: 1,
          }),
        ),
        created_at: optional(instant('when it was made; absent: now')),
      }),
      { description: 'groups to import', minItems: 1 },
    ),
  },
  data: ImportedGroups,
  errors: ['app_not_found', 'import_finished'],
})

/**
 * Accepted messages are stored in one commit. docs/decisions/085-message-import.md says what makes
 * a repeat harmless.
 */
export const importMessages = operation({
  ...operatorOperation,
  id: 'operator.message.import',
  methods: post,
  path: '/operator/v1/message/import',
  summary: 'Imports up to 1,000 messages of the past; each succeeds or fails separately.',
  description:
    'Nobody is notified: no webhooks, no pushes, nothing unread. Messages of a conversation come by ascending created_at and before its first live message. Safe to repeat: a message that was imported before answers its msg_id. A sender need not be a member of the group.',
  body: {
    app_id: appId,
    source,
    messages: itemList(
      strictObject({
        external_id: externalId,
        created_at: instant('when it was sent, from 2000 on and not in the future'),
        sender_id: id('the sender, a user'),
        ...whichConversation,
        content_type: optional(
          intEnum(meaningsOf(contentType), { description: 'what it holds; default 0' }),
        ),
        content: messageText('message content; may be omitted with an attachment'),
        ...messageTexts,
        reply_to: optional(
          string({
            description:
              'external_id of the message that it replies to: an earlier one of the same source and conversation',
            minLength: 1,
            maxLength: 255,
          }),
        ),
        reactions: optional(
          list(
            strictObject({
              user_id: id('the user'),
              key: reactionKey,
              created_at: optional(instant('when; absent: with the message; of the future: now')),
            }),
            { description: 'reactions to it', maxItems: 1_000 },
          ),
        ),
        pinned: optional(
          strictObject(
            {
              user_id: id('the user who pinned it; 0: an administrator'),
              at: optional(instant('when; absent: with the message; of the future: now')),
            },
            { description: 'it is pinned' },
          ),
        ),
      }),
      { description: 'messages to import', minItems: 1, maxItems: 1_000 },
    ),
  },
  data: ImportedMessages,
  errors: ['app_not_found', 'import_finished'],
})

/** Leaves out unknown and recalled messages; for a comparison (docs/decisions/086-import-from-stream.md). */
export const findImportedMessages = operation({
  ...operatorOperation,
  id: 'operator.message.imported',
  methods: post,
  path: '/operator/v1/message/imported',
  summary:
    'Reads up to 100 imported messages by their external IDs, to compare them with their source.',
  description: 'Not after the import was finished: its external IDs are forgotten then.',
  body: {
    app_id: appId,
    source,
    external_ids: list(externalId, { description: 'of messages', minItems: 1, maxItems: 100 }),
  },
  data: FoundImportedMessages,
  errors: ['app_not_found'],
})

/** docs/decisions/085-message-import.md says when positions may go back. */
export const importMembers = operation({
  ...operatorOperation,
  id: 'operator.member.import',
  methods: post,
  path: '/operator/v1/member/import',
  summary:
    'Imports up to 1,000 members of groups and their positions, and those of the parties of direct conversations.',
  description:
    'Safe to repeat. last_read makes unread what is later; without it everything that was imported is read. Import members after the messages, and again with the last ones.',
  body: {
    app_id: appId,
    source,
    members: itemList(
      strictObject({
        user_id: id('the user'),
        ...whichConversation,
        role: optional(
          intEnum(importedRoles, {
            description:
              'of groups; default 0, of the owner ignored; a group has at most 500 admins',
          }),
        ),
        joined_at: optional(instant('of groups: since when; absent: now')),
        last_read: optional(
          int64({ description: 'messages up to this instant are read, ms', minimum: 0 }),
        ),
      }),
      { description: 'members to import', minItems: 1, maxItems: 1_000 },
    ),
  },
  data: ImportedMembers,
  errors: ['app_not_found', 'import_finished'],
})

/** Finished imports are among them: their sources cannot be used again. */
export const getImportStatus = operation({
  ...operatorOperation,
  id: 'operator.import.status',
  methods: post,
  path: '/operator/v1/import/status',
  summary: 'Lists the imports of an application from other systems.',
  body: { app_id: appId },
  data: ImportStatus,
  errors: ['app_not_found'],
})

/** The row of the source stays, so that it cannot be imported again by mistake. */
export const finishImport = operation({
  ...operatorOperation,
  id: 'operator.import.finish',
  methods: post,
  path: '/operator/v1/import/finish',
  summary: 'Finishes an import: its external IDs are forgotten, and its source takes nothing more.',
  description:
    'Clients read their lists anew; connected ones are asked to, some at a time. Safe to repeat: it answers the same.',
  body: { app_id: appId, source },
  data: ImportSource,
  errors: ['app_not_found', 'import_not_found'],
})
