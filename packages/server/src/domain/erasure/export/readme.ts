import type { Int64 } from '@hermod/protocol'
import { counted } from '../../../lib/counted.js'

interface Exported {
  readonly appId: string
  readonly userId: Int64
  readonly rows: Readonly<Record<string, number>>
  readonly files: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Meanings of the lines of each table, for the person. */
const meanings: Readonly<Record<string, string>> = {
  user_badges: 'the number on the icon of the app',
  user_settings: 'settings',
  user_tokens: 'logins, without the tokens',
  user_identities: 'the user in other systems',
  login_networks: 'networks of logins',
  push_aliases: 'the alias for pushes',
  push_tags: 'tags for pushes',
  push_bindings: 'push services of devices, without the device tokens',
  silent_push_bindings: 'push services of earlier devices',
  push_deliveries: 'pushes to devices',
  devices: 'devices',
  contacts: 'contacts',
  contact_requests: 'requests between the person and others',
  pinned_conversations: 'pinned conversations',
  messages: 'messages that the person has sent',
  message_reactions: 'reactions of the person',
  message_streams: 'messages that were written piece by piece',
  stream_chunks: 'the pieces of such messages',
  own_notifications: 'system notifications in the name of the person',
  group_members: 'groups of the person',
  group_mute_gaps: 'messages that were not received because a group was muted',
  group_removals: 'removals from groups',
  group_blocks: 'groups that refuse the person',
  group_join_requests: 'requests to join groups',
  group_invitations: 'invitations to groups, by and for the person',
  group_invitation_counts: 'the number of open invitations',
  group_announcements: 'announcements that the person has written',
  group_files: 'files that the person has shared in groups',
  files: 'files that the person has uploaded; the bytes are in the folder files, by file_id',
  receipt_requests: 'messages with a request for read receipts',
  sent_transactions: 'sends of the last days, by which repeats are recognized',
  user_changes: 'what devices have to read again',
}

/** Returns the page that explains an export. */
export function readme({ appId, userId, rows, files, at }: Exported): string {
  const lines = Object.entries(rows)
    .filter(([, count]) => count > 0)
    .map(
      ([table, count]) =>
        `  ${`${table}.ndjson`.padEnd(34)}${counted(count, 'line')}: ${meanings[table] ?? table}`,
    )
  return `Data of user ${userId} of the application ${appId}, as of ${new Date(at).toISOString()}.

Each file has one JSON object a line. Names of members are those of the columns in the database.
Times ending in _at are milliseconds since 1970.

  ${'users.ndjson'.padEnd(34)}1 line: the profile
${lines.join('\n')}
  ${'files/'.padEnd(34)}${counted(files, 'file')}, each under its file_id

Not in here: messages that others have sent, names and numbers of others (their IDs are), passwords,
tokens and other credentials. A file that the store has lost is in files.ndjson alone. The file COMPLETE was written last: without it the export is not whole.
`
}
