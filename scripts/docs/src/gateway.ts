/** The page of docs/reference on the frames of the gateway. Pure, as the other pages. */
import {
  type CloseName,
  closeCodes,
  closeMeanings,
  meaningsOf,
  userChangeKind,
} from '@hermod/protocol'
import type { AsyncApiDocument } from '@hermod/protocol/asyncapi'
import {
  type DeviceEventKind,
  deviceEventKinds,
  numberedEventKinds,
  sessionOpenOp,
} from '@hermod/protocol/gateway'
import { nestedFields, type ReferenceField } from '@hermod/protocol/openapi'
import {
  type EventAudience,
  eventDefinitions,
  eventKinds,
  type UserChangeName,
} from '@hermod/protocol/events'
import { code, fieldRows, markdownPage, markdownTable } from './render.js'

export function renderGateway(document: AsyncApiDocument): string {
  return markdownPage('Gateway', [
    'The frames of the WebSocket at `/gateway`. [Realtime](../guides/realtime.md) has the rules for clients; `/asyncapi.json` of a running service describes every frame for tools.',
    '## session.open',
    fieldRows('Call', fieldsOf(document, sessionOpenOp, 'data.')),
    fieldRows('Answer', fieldsOf(document, `${sessionOpenOp}.answer`, 'data.')),
    'An answer to a failed call of any operation:',
    fieldRows('Failure', fieldsOf(document, 'failure', '')),
    '## Events',
    'An event has its kind in `event` and its fields in `data`. Kinds with a change number carry it in `change`. A question mark stands after fields that may be absent. `conversation` has the members `low_id`, `high_id` and `is_group`.',
    markdownTable(
      ['Event', 'Sent to', 'Change number', 'Fields of `data`'],
      deviceEventKinds.map((kind) => [
        code(kind),
        receivers[audienceOf(kind)],
        numberedEventKinds.some((each) => each === kind) ? 'yes' : '',
        fieldsOf(document, `event.${kind}`, 'data.').map(fieldName).join(', '),
      ]),
    ),
    '`session.closing` has the close code that follows, the reason, and the time after which to come back. `sync.needed` has no fields.',
    '## User changes',
    'Kinds of the entries in `user` of `message.sync`: what a client reads again. The events of a connected client make the same things stale.',
    markdownTable(
      ['kind', 'What has changed', 'Events that change it'],
      Object.entries(meaningsOf(userChangeKind)).map(([kind, meaning]) => [
        kind,
        meaning,
        eventsThatChange(Number(kind)).map(code).join(', '),
      ]),
    ),
    '## Close codes',
    'After 4000 to 4499 a client comes back, after 4500 to 4999 it does not reconnect without the user.',
    markdownTable(
      ['Code', 'Name', 'Meaning'],
      (Object.entries(closeCodes) as [CloseName, number][]).map(([name, number]) => [
        String(number),
        code(name),
        closeMeanings[name],
      ]),
    ),
  ])
}

const receivers: Readonly<Record<EventAudience | 'transient', string>> = {
  log: 'readers of the conversation',
  actor: 'own devices of the actor',
  users: '`user_ids`',
  both: 'the actor and `user_ids`',
  group: 'members of the group and `user_ids`',
  admins: 'owner and admins of the group',
  applicants: 'owner and admins of the group, the actor and `user_ids`',
  none: '',
  transient: 'connected devices only; never stored',
}

function audienceOf(kind: DeviceEventKind): EventAudience | 'transient' {
  return kind in eventDefinitions
    ? eventDefinitions[kind as keyof typeof eventDefinitions].audience
    : 'transient'
}

/** @param change a value of `userChangeKind` */
function eventsThatChange(change: number): readonly string[] {
  return eventKinds.filter((kind) =>
    Object.keys(eventDefinitions[kind].userChanges).some(
      (name) => userChangeKind[name as UserChangeName] === change,
    ),
  )
}

/** Fields of a message below a prefix, by their paths after it. */
function fieldsOf(document: AsyncApiDocument, message: string, prefix: string): ReferenceField[] {
  const { payload = {} } = document.components.messages[message] ?? {}
  return nestedFields(document, payload)
    .filter(({ path }) => path.startsWith(prefix) && !path.includes('conversation.'))
    .map((field) => ({ ...field, path: field.path.slice(prefix.length) }))
}

function fieldName({ path, required }: ReferenceField): string {
  return code(required ? path : `${path}?`)
}
