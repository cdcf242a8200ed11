import { erasureModes } from '../enums.js'
import { operation } from '../operation.js'
import { ErasedReport, ErasureHold, ErasureList, HoldList } from '../resources/operator/erasures.js'
import { StartedJob } from '../resources/operator/jobs.js'
import { list, optional, string, stringEnum, int64 } from '../schema.js'
import { appId, get, id, operatorOperation, post, username } from './fields.js'

const whichPerson = {
  app_id: appId,
  user_id: optional(id('the user, deleted or not; or username')),
  username: optional(username),
}
const reason = string({
  description: 'why, for the certificate; nothing personal',
  minLength: 1,
  maxLength: 512,
})
const holdName = string({
  description: 'name of the case: 1 to 64 of letters, digits, _, . and -',
  maxLength: 64,
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  form: '1 to 64 of letters, digits, _, . and -',
  examples: ['case-17'],
})

/**
 * Deletes the user first, if that was not done before (rule D5), then everything that
 * docs/guides/erasure.md lists, in small transactions. A repeat finds what is left, and is harmless.
 * The result of the job is the certificate.
 */
export const eraseUser = operation({
  ...operatorOperation,
  id: 'operator.user.erase',
  methods: post,
  path: '/operator/v1/user/erase',
  summary: 'Starts the erasure of everything of a user.',
  description:
    'The job goes on after a kill. It cannot be undone. A user who is deleted already is named by user_id.',
  body: {
    ...whichPerson,
    messages: stringEnum(erasureModes, {
      description:
        'keep: messages stay as they are; anonymise: only their texts stay; delete: tombstones take their place',
    }),
    reason,
  },
  data: StartedJob,
  errors: [
    'app_not_found',
    'user_not_found',
    'erasure_held',
    'erasure_unfinished',
    'too_many_jobs',
  ],
})

/** The newest 200. */
export const listErasures = operation({
  ...operatorOperation,
  id: 'operator.user.erasures',
  methods: get,
  path: '/operator/v1/user/erasures',
  summary: 'Lists the certificates of erasures.',
  query: { app_id: appId, user_id: optional(id('only those of this user')) },
  data: ErasureList,
  errors: ['app_not_found'],
})

/**
 * Messages that an erasure with `messages: keep` or `anonymise` has left are no fault. The texts are
 * looked for in every table, and in all bytes of the embedded database and its log, unused space
 * included.
 */
export const checkErased = operation({
  ...operatorOperation,
  id: 'operator.user.check_erased',
  methods: post,
  path: '/operator/v1/user/check_erased',
  summary: 'Looks for data of a user who was erased.',
  body: {
    app_id: appId,
    user_id: id('the user'),
    texts: optional(
      list(string({ description: 'a text', minLength: 4, maxLength: 1024 }), {
        description: 'names, numbers, addresses and other texts of the person to look for',
        maxItems: 100,
      }),
    ),
  },
  data: ErasedReport,
  errors: ['app_not_found', 'user_not_found'],
})

/** docs/guides/erasure.md lists the contents of the folder. */
export const exportUserData = operation({
  ...operatorOperation,
  id: 'operator.user.data_export',
  methods: post,
  path: '/operator/v1/user/data_export',
  summary: 'Starts the export of the data of a user to a folder of the node.',
  body: {
    ...whichPerson,
    folder: optional(
      string({
        description: 'an absolute path; absent: a new folder in `exports` of the data folder',
        maxLength: 1024,
      }),
    ),
  },
  data: StartedJob,
  errors: ['app_not_found', 'user_not_found', 'too_many_jobs'],
})

/** Safe to repeat. A name may hold several users and conversations. */
export const setHold = operation({
  ...operatorOperation,
  id: 'operator.hold.set',
  methods: post,
  path: '/operator/v1/hold/set',
  summary: 'Holds a user or a conversation: neither an erasure nor retention changes it.',
  description: 'Give user_id, or the two users of a conversation or a group as `conversation`.',
  body: {
    app_id: appId,
    name: holdName,
    user_id: optional(id('the user, deleted or not')),
    conversation: optional(
      list(int64(), { description: 'two users, or a group', minItems: 1, maxItems: 2 }),
    ),
    reason,
  },
  data: ErasureHold,
  errors: ['app_not_found', 'user_not_found', 'conversation_not_found'],
})

/** Releases everything that the name holds. */
export const releaseHold = operation({
  ...operatorOperation,
  id: 'operator.hold.release',
  methods: post,
  path: '/operator/v1/hold/release',
  summary: 'Releases the holds of a name.',
  body: { app_id: appId, name: holdName },
  data: HoldList,
  errors: ['app_not_found', 'hold_not_found'],
})

/** Lists the holds of all applications, or of one. */
export const listHolds = operation({
  ...operatorOperation,
  id: 'operator.hold.list',
  methods: get,
  path: '/operator/v1/hold/list',
  summary: 'Lists holds.',
  query: { app_id: optional(appId) },
  data: HoldList,
  errors: ['app_not_found'],
})
