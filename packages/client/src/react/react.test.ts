import { createElement, type ReactNode, StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, it } from 'vitest'
import { aMessage, aUser, FakeSession, settled } from '../../test/support/fake-session.js'
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
    client.fileUrl('/file/download/chat?sign=x'),
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

it('react: the hooks give the values of the views, also on a server', async () => {
  const { session, client } = aClient()
  session.setLive({ token: '' })
  expect(render(client)).toEqual(['online', [], [], null, true, null])
  session.setLive({ token: 'secret' })
  session.apply({ logs: [session.fill('d1.9', 1)], things: [aUser(9, { alias: 'Bob' })] })
  session.apply({ messages: [aMessage('d1.9', 1)] })
  await client.conversation(9).loadOlder()
  expect(render(client)).toEqual([
    'online',
    ['Bob'],
    ['message 1'],
    'Bob',
    true,
    'https://chat.example/file/download/chat?sign=x&access-token=secret&app_id=app',
  ])
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
