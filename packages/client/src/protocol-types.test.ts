import type * as protocol from '@hermod/protocol'
import type { DeviceEventPayloads } from '@hermod/protocol/gateway'
import { expectTypeOf, it } from 'vitest'
import type * as client from './protocol-types.js'
import type { Plain } from './protocol-types.js'

/** The type with numbers where it lists values, as the definitions of the contract have them. */
type Wide<T> = T extends number ? number : T extends object ? { [K in keyof T]: Wide<T[K]> } : T

it('types of the contract with doc comments are those of its definitions', () => {
  expectTypeOf<Wide<client.GroupRecord>>().toEqualTypeOf<Plain<protocol.GroupRecord>>()
  expectTypeOf<Wide<client.GroupSummary>>().toEqualTypeOf<Plain<protocol.GroupSummary>>()
  expectTypeOf<Wide<client.GroupMemberInfo>>().toEqualTypeOf<Plain<protocol.GroupMemberInfo>>()
  expectTypeOf<Wide<client.RosterApplication>>().toEqualTypeOf<Plain<protocol.RosterApplication>>()
  expectTypeOf<Wide<client.RosterEntry>>().toEqualTypeOf<Plain<protocol.RosterEntry>>()
  expectTypeOf<Wide<client.UserProfile>>().toEqualTypeOf<Plain<protocol.UserProfile>>()
  expectTypeOf<keyof client.ClientEvents>().toEqualTypeOf<keyof DeviceEventPayloads>()
  expectTypeOf<client.ClientEvents['message.stored']>().toExtend<
    Plain<DeviceEventPayloads['message.stored']>
  >()
})

it('fields of the contract with few values list them', () => {
  expectTypeOf<client.GroupMemberInfo['role']>().toEqualTypeOf<0 | 1 | 2>()
  expectTypeOf<client.ClientEvents['push.notification']['kind']>().toEqualTypeOf<
    'text' | 'image' | 'cmd'
  >()
})
