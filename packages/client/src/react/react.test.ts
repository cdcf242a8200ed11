import { createElement, type ReactNode, StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, it } from 'vitest'
import { aUser, FakeSession, settled } from '../../test/support/fake-session.js'
import { createClientOn } from '../create-client.js'
import { createClient } from '../index.js'
import {
  HermodProvider,
  useClient,
  useConnection,
  useConversations,
  useMessages,
  useUser,
  useView,
} from './index.js'

const clock = { now: () => 0, wallTime: () => 0, after: () => () => {}, random: () => 0.5 }

function aClient() {
  const session = new FakeSession()
  const options = { url: 'https://chat.example', appId: 'app', token: () => 'secret' }
  return { session, client: createClientOn(session, options, clock) }
}

function Page(): ReactNode {
  const client = useClient()
  const conversation = client.conversation(9)
  const parts = [
    useConnection().state,
    useConversations().conversations.map(({ title }) => title),
    useMessages(conversation).messages.map(({ text }) => text),
    useUser(9)?.name,
    useView(client.isDurable),
    useView(client.hasToken) ? client.fileUrl('/file/download/chat?sign=x') : undefined,
  ]
  return createElement('pre', null, JSON.stringify(parts))
}

function render(client: ReturnType<typeof aClient>['client']): unknown {
  const page = createElement(HermodProvider, { client }, createElement(Page))
  const html = renderToString(createElement(StrictMode, null, page))
  return JSON.parse(
    html
      .replace(/<\/?pre>/g, '')
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&'),
  )
}

it('react: a server renders what a client shows that knows nothing yet, whatever it knows', async () => {
  const { session, client } = aClient()
  session.apply({ logs: [session.fill('d1.9', 1)], cached: [aUser(9, { alias: 'Bob' })] })
  await client.conversation(9).loadOlder()
  expect(client.conversations.getSnapshot().conversations).toHaveLength(1)
  expect(render(client)).toEqual(['idle', [], [], null, false, null])
})

it('react: the snapshot for a server of every view is fixed, and that of a new client', () => {
  const { session, client } = aClient()
  const viewsOf = ({ groups, contacts, ...each }: typeof client) => [
    ...[each.connection, each.isDurable, each.hasToken, each.conversations, each.profile],
    ...[contacts.list, contacts.requests, groups.list, each.user(9)],
    ...[groups.group(7).info, groups.group(7).members],
    ...[each.conversation(9).summary, each.conversation(9).messages],
  ]
  const before = viewsOf(client).map((view) => view.getServerSnapshot())
  session.apply({ logs: [session.fill('d1.9', 1)], cached: [aUser(9, { alias: 'Bob' })] })
  const after = viewsOf(client).map((view) => view.getServerSnapshot())
  expect(after.every((value, index) => Object.is(value, before[index]))).toBe(true)
  expect(viewsOf(aClient().client).map((view) => view.getServerSnapshot())).toEqual(before)
})

it('react: a page with the client for browsers renders on a server', async () => {
  const client = createClient({ url: 'http://127.0.0.1:1', appId: 'app', token: () => 'secret' })
  expect(render(client)).toEqual(['idle', [], [], null, false, null])
  await settled()
  await client.close()
})

it('react: useClient without a provider names what is missing', () => {
  expect(() => renderToString(createElement(Page))).toThrow(/HermodProvider/)
})
