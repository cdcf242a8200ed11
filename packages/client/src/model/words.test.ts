import * as protocol from '@hermod/protocol'
import { expect, it } from 'vitest'
import * as words from './words.js'

it.each([
  ['contentTypes', words.contentTypes, protocol.contentType],
  ['groupTypes', words.groupTypes, protocol.groupType],
  ['memberRoles', words.memberRoles, protocol.memberRole],
  ['joinApprovals', words.joinApprovals, protocol.applyApproval],
  ['muteModes', words.muteModes, protocol.muteMode],
  ['pushModes', words.pushModes, protocol.pushMode],
  ['relations', words.relations, protocol.relation],
  ['contactApprovals', words.contactApprovals, protocol.authMode],
  ['strangerChats', words.strangerChats, protocol.strangerChat],
  ['platforms', words.platforms, protocol.platform],
] as const)('words: %s are those of the contract', (_name, list, enumeration) => {
  expect(Object.fromEntries(list.map((word, value) => [word, value]))).toEqual({ ...enumeration })
})
