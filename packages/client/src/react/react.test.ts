import { createElement, type ReactNode, StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, it } from 'vitest'
import { aUser, FakeSession, upload, settled } from '../../test/support/fake-session.js'
import { createClientOn } from '../create-client.js'
import { createClient } from '../index.js'
import * as hooks from './index.js'

const {
  HermodProvider,
  useClient,
  useConnection,
  useConversations,
  useMessages,
  useUser,
  useView,
} = hooks

const clock = { now: () => 0, wallTime: () => 0, after: () => () => {}, random: () => 0.5 }

function aClient() {
  const session = new FakeSession()
  const options = { url: 'https://chat.example', appId: 'app', token: () => 'secret' }
  return { session, client: createClientOn(session, options, { clock, upload }) }
}

function Page(): ReactNode {
  const client = useClient()
  const conversation = client.direct(9)
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

/** Calls hooks. */
function Runner({ run }: { run(): void }): ReactNode {
  run()
  return null
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
  await client.direct(9).messages.loadOlder()
  expect(client.conversations.getSnapshot().conversations).toHaveLength(1)
  expect(render(client)).toEqual(['idle', [], [], null, false, null])
})

it('react: the snapshot for a server of every view is fixed, and that of a new client', () => {
  const { session, client } = aClient()
  const viewsOf = ({ groups, contacts, ...each }: typeof client) => [
    ...[
      each.connection,
      each.isDurable,
      each.hasToken,
      each.features,
      each.direct(9).pinned,
      each.conversations,
      each.profile,
      each.settings,
    ],
    ...[
      contacts.list,
      contacts.requests,
      groups.list,
      groups.invitations,
      groups.joinRequests,
      each.user(9),
    ],
    ...[each.group(7).info, each.group(7).members],
    ...[each.direct(9).summary, each.direct(9).messages],
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

it('react: every view has a hook, which gives its value', () => {
  const { session, client } = aClient()
  session.apply({ cached: [aUser(9, { alias: 'Bob' })] })
  const conversation = client.direct(9)
  const { groups, contacts } = client
  const views = [
    [() => hooks.useConnection(), client.connection],
    [() => hooks.useIsDurable(), client.isDurable],
    [() => hooks.useHasToken(), client.hasToken],
    [() => hooks.useFeatures(), client.features],
    [() => hooks.usePinnedMessages(conversation), conversation.pinned],
    [() => hooks.useConversations(), client.conversations],
    [() => hooks.useSummary(conversation), conversation.summary],
    [() => hooks.useMessages(conversation), conversation.messages],
    [() => hooks.useDraft(conversation), conversation.draft],
    [() => hooks.useUser(9), client.user(9)],
    [() => hooks.useProfile(), client.profile],
    [() => hooks.useSettings(), client.settings],
    [() => hooks.useContacts(), contacts.list],
    [() => hooks.useContactRequests(), contacts.requests],
    [() => hooks.useGroups(), groups.list],
    [() => hooks.useGroup(7), client.group(7).info],
    [() => hooks.useMembers(7), client.group(7).members],
    [() => hooks.useInvitations(), groups.invitations],
    [() => hooks.useJoinRequests(), groups.joinRequests],
  ] as const
  const used: unknown[] = []
  const run = () => {
    for (const [use] of views) used.push(use())
  }
  const { HermodProvider: _, useClient: _client, useView: _view, ...named } = hooks
  renderToString(createElement(HermodProvider, { client }, createElement(Runner, { run })))
  expect(used).toEqual(views.map(([, view]) => view.getServerSnapshot()))
  expect(views).toHaveLength(Object.keys(named).length)
})
