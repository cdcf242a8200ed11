import { operation } from '../../operation.js'
import { FileUsage, OperatorFileDetails, OperatorFilePage } from '../../resources/operator/files.js'
import { array, boolean, string } from '../../schema.js'
import { appId, done, get, newestFirst, operatorOperation, post } from '../fields.js'

const whichFile = {
  app_id: appId,
  file_id: string({ description: 'file ID', minLength: 1, maxLength: 64 }),
}

/** Newest first. A walk over the pages returns every file that exists throughout exactly once. */
export const listFiles = operation({
  ...operatorOperation,
  id: 'operator.file.list',
  methods: get,
  path: '/operator/v1/file/list',
  summary: 'Lists the files of an application, newest first.',
  query: {
    app_id: appId,
    ...newestFirst('files'),
  },
  data: OperatorFilePage,
  errors: ['app_not_found'],
})

/** References to a file are recorded shortly after it was sent or set (rule J6). */
export const getFile = operation({
  ...operatorOperation,
  id: 'operator.file.get',
  methods: get,
  path: '/operator/v1/file/get',
  summary: 'Shows a file and what names it.',
  query: whichFile,
  data: OperatorFileDetails,
  errors: ['app_not_found', 'file_not_found'],
})

/** Counted in the transactions that store and remove files. */
export const getFileUsage = operation({
  ...operatorOperation,
  id: 'operator.file.usage',
  methods: get,
  path: '/operator/v1/file/usage',
  summary: 'Shows how much every application has in files.',
  data: array(FileUsage, { description: 'by application ID' }),
})

/** Ignores references: the file's addresses answer file_not_found from then on (rule J8). */
export const deleteFile = operation({
  ...operatorOperation,
  id: 'operator.file.delete',
  methods: post,
  path: '/operator/v1/file/delete',
  summary: 'Deletes a file.',
  body: whichFile,
  data: boolean({ description: 'true: the file is gone' }),
  errors: ['app_not_found', 'file_not_found'],
})

/**
 * On this node at once, on others within 1 s; addresses that they issue until then end too. Files
 * stay, and avatars remain available, since they need no signature (rule J3).
 */
export const revokeFileLinks = operation({
  ...operatorOperation,
  id: 'operator.file.revoke_links',
  methods: post,
  path: '/operator/v1/file/revoke_links',
  summary: 'Ends all addresses of files of an application that were made so far.',
  description:
    'Those that stand in messages answer 14000 from then on; new ones are signed with a new key.',
  body: { app_id: appId },
  data: done,
  errors: ['app_not_found'],
})
