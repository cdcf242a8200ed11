/**
 * Integration tests by folder of packages/server/src. Unit tests are found in the folder of their
 * files.
 */

/** Path prefixes with names in packages/server/test; the longest prefix counts. */
const tests = {
  'domain/': ['service/walk', 'users/users', 'messaging/messages', 'groups/groups'],
  'domain/apps/': ['users/app-config', 'commands/commands', 'service/lifecycle', 'service/walk'],
  'domain/contacts/': [
    'contacts/contacts',
    'contacts/contact-requests',
    'contacts/contact-sending',
    'contacts/contact-model',
    'users/names',
  ],
  'domain/devices/': ['users/devices', 'users/tokens'],
  'domain/files/': [
    'files/files',
    'files/file-uploads',
    'files/file-links',
    'users/tokens',
    'users/logins',
  ],
  'domain/groups/admission/': [
    'groups/group-applications',
    'groups/group-invitations',
    'groups/group-qr',
    'groups/group-model',
  ],
  'domain/groups/content/': ['groups/group-announcements', 'groups/group-files'],
  'domain/groups/core/': [
    'groups/groups',
    'groups/group-settings',
    'groups/group-rights',
    'groups/group-messages',
    'groups/group-operations',
    'groups/group-model',
  ],
  'domain/groups/membership/': [
    'groups/group-members',
    'groups/group-moderation',
    'groups/group-succession',
    'groups/group-mute',
    'groups/group-model',
  ],
  'domain/groups/moderation/': [
    'groups/group-members',
    'groups/group-moderation',
    'groups/group-rights',
    'groups/group-totals',
    'groups/group-model',
  ],
  'domain/integrity/': ['service/integrity', 'messaging/broadcasts'],
  'domain/login/': [
    'users/tokens',
    'users/login-race',
    'service/limits',
    'users/users',
    'users/logins',
    'commands/commands-user',
  ],
  'domain/messaging/conversations/': [
    'messaging/conversation-list',
    'messaging/pins',
    'messaging/conversation-model',
    'messaging/broadcast-conversations',
  ],
  'domain/messaging/log/': [
    'messaging/messages',
    'messaging/history',
    'messaging/changes',
    'messaging/edits',
    'groups/group-messages',
    'messaging/broadcasts',
    'messaging/broadcast-changes',
  ],
  'domain/messaging/model/message-model': [
    'messaging/messages',
    'messaging/message-contents',
    'messaging/edits',
    'groups/group-messages',
    'background/nodes',
  ],
  'domain/messaging/log/stored-messages': ['push/message-push', 'background/outbox'],
  'domain/messaging/positions/': [
    'messaging/acknowledgements',
    'messaging/read-marks',
    'messaging/conversation-model',
    'messaging/broadcast-conversations',
    'groups/group-messages',
    'groups/group-operations',
  ],
  'domain/messaging/readers/': [
    'messaging/conversation-model',
    'messaging/acknowledgements',
    'messaging/broadcasts',
    'messaging/broadcast-conversations',
    'groups/group-mute',
    'groups/group-unread',
    'groups/group-receipts',
  ],
  'domain/messaging/sync/': ['messaging/sync', 'messaging/sync-model', 'messaging/broadcasts'],
  'domain/messaging/operations/': [
    'messaging/recall',
    'messaging/edits',
    'messaging/changes',
    'messaging/broadcasts',
    'messaging/broadcast-changes',
    'groups/group-operations',
  ],
  'domain/messaging/reading/': [
    'messaging/history',
    'messaging/read-marks',
    'messaging/changes',
    'messaging/conversation-model',
    'background/nodes',
  ],
  'domain/messaging/sending/': [
    'messaging/messages',
    'messaging/message-contents',
    'messaging/transaction-ids',
    'messaging/send-batches',
    'groups/group-messages',
    'messaging/broadcasts',
    'messaging/broadcast-changes',
    'messaging/recall',
    'contacts/contact-sending',
    'background/nodes',
  ],
  'domain/push/': ['push/tasks/push-tasks', 'push/message-push'],
  'domain/push/audience/': [
    'push/tasks/push-tasks',
    'push/push-preferences',
    'push/tasks/push-model',
  ],
  'domain/push/certificates/': [
    'push/gateways/push-certificates',
    'push/gateways/push-certificate-service',
    'push/gateways/push-certificate-options',
    'push/gateways/push-limits',
    'push/gateways/push-gateways',
  ],
  'domain/push/deliveries/': [
    'push/tasks/push-core',
    'push/tasks/push-tasks',
    'push/tasks/push-model',
    'push/gateways/push-ios',
    'push/tasks/push-trace',
    'push/message-push',
  ],
  'domain/push/messages/': ['push/message-push', 'push/message-push-restart'],
  'domain/push/pages/': ['push/tasks/push-pages', 'push/tasks/push-tasks', 'push/tasks/push-model'],
  'domain/push/preferences/': ['push/push-preferences', 'push/message-push'],
  'domain/push/receipts/': ['push/gateways/push-receipts', 'push/gateways/push-receipts-api'],
  'domain/push/sending/': [
    'push/gateways/push-gateways',
    'push/tasks/push-model',
    'push/push-report',
    'push/gateways/push-ios',
    'push/tasks/push-trace',
  ],
  'domain/push/tasks/': [
    'push/tasks/push-tasks',
    'push/tasks/push-model',
    'push/tasks/push-task-operator',
  ],
  'domain/push/trace/': ['push/tasks/push-trace'],
  'domain/secrets/': ['service/secrets'],
  'domain/users/': [
    'users/users',
    'users/names',
    'users/user-settings',
    'users/accounts',
    'users/profiles',
    'users/registration',
    'users/nameless-registration',
  ],
  'domain/users/deletion/': ['users/deletion', 'users/deletion-race'],
  'domain/users/import/': ['commands/commands-user', 'commands/commands-user-import'],
  'domain/users/registration/': [
    'users/registration',
    'users/nameless-registration',
    'users/app-config',
    'commands/commands-user',
    'messaging/broadcasts',
  ],
  'domain/users/settings/': ['users/user-settings', 'users/registration'],
  'pipeline/': [
    'service/pipeline',
    'service/callers',
    'service/bad-parameters',
    'service/limits',
    'service/walk',
  ],
  'pipeline/call-limits': ['service/limits'],
  'db/': [
    'database/cache-check',
    'database/statement-check',
    'database/database-thread',
    'messaging/messages',
    'messaging/history',
    'messaging/transaction-ids',
    'messaging/message-restarts',
    'background/nodes',
  ],
  'db/database': [
    'database/cache-check',
    'database/statement-check',
    'users/tokens',
    'users/users',
    'background/nodes',
  ],
  'db/dialect/postgres': ['messaging/messages', 'database/faults', 'background/nodes'],
  'db/dialect/sqlite': [
    'database/database-thread',
    'database/checkpoints',
    'database/statement-check',
    'messaging/messages',
  ],
  'db/dialect/sqlite-checkpointer': ['database/checkpoints'],
  'db/migrations/': ['database/schema', 'service/lifecycle'],
  'http/routes/receipts': ['push/gateways/push-receipts', 'push/gateways/push-receipts-api'],
  'edge/': [
    'service/http',
    'service/http-settings',
    'service/limits',
    'service/lifecycle',
    'files/file-answers',
  ],
  'http/': [
    'service/http',
    'service/http-parameters',
    'service/http-pages',
    'service/http-settings',
    'service/limits',
    'service/lifecycle',
  ],
}

/** Tests that need PostgreSQL. */
const onlyOnPostgres = new Set(['background/nodes'])

/**
 * @param {string} path of a source file, relative to packages/server/src
 * @param {string} backend sqlite or postgres
 * @returns {string[]} test files relative to the root; none if unknown
 */
export function integrationTestsOf(path, backend) {
  const known = Object.keys(tests).filter((beginning) => path.startsWith(beginning))
  const longest = known.reduce((a, b) => (b.length > a.length ? b : a), '')
  return (tests[longest] ?? [])
    .filter((name) => backend === 'postgres' || !onlyOnPostgres.has(name))
    .map((name) => `packages/server/test/${name}.test.ts`)
}

/** All path prefixes of the table, for its own test. */
export const namedPaths = Object.keys(tests)

/** All tests in the table, for its own test. */
export const namedTests = [...new Set(Object.values(tests).flat())]
