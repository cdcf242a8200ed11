import type { DeviceEventPayloads } from '@hermod/protocol/gateway'
import { expectTypeOf, it } from 'vitest'
import type { ConversationRef, MemberRole, MuteMode } from './api.js'
import type { CallParams, ClientEvents } from './protocol-types.js'

it('events: every kind that devices get has a type, with public names and words', () => {
  expectTypeOf<keyof ClientEvents>().toEqualTypeOf<keyof DeviceEventPayloads>()
  expectTypeOf<ClientEvents['group.admin_granted']['role']>().toEqualTypeOf<MemberRole>()
  expectTypeOf<ClientEvents['group.message_setting']['setting']>().toExtend<{
    readonly muteMode?: MuteMode
  }>()
  expectTypeOf<ClientEvents['typing']['conversation']>().toEqualTypeOf<ConversationRef>()
  expectTypeOf<ClientEvents['message.stored']>().toExtend<{
    readonly messageId: number
    readonly text: string
  }>()
  expectTypeOf<ClientEvents['push.notification']['kind']>().toEqualTypeOf<
    'text' | 'image' | 'cmd'
  >()
})

it('parameters: entries of a list with separate results are those that the caller writes', () => {
  expectTypeOf<{ list: { user_id: number; avatar: string }[] }>().toExtend<
    CallParams<'user.avatar.batch'>
  >()
})
