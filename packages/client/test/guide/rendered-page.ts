/** A page that a server renders and the browser hydrates. */
import type { Client } from '@hermod/client'
import {
  HermodProvider,
  useClient,
  useConnection,
  useConversations,
  useMessages,
  useUser,
  useView,
} from '@hermod/client/react'
import { createElement, type ReactNode } from 'react'

/** The page with a client that knows a conversation with another user. */
export function renderedPage(client: Client, peer: number): ReactNode {
  return createElement(HermodProvider, { client }, createElement(Page, { peer }))
}

function Page({ peer }: { readonly peer: number }): ReactNode {
  const client = useClient()
  const conversation = client.direct(peer)
  const shown = [
    useConnection().state,
    useConversations().conversations.map(({ unread }) => unread),
    useMessages(conversation).messages.map(({ text }) => text),
    useView(conversation.summary).unread,
    useUser(peer) !== undefined,
    useView(client.isDurable),
    useView(client.profile) !== undefined,
  ]
  return createElement('pre', null, JSON.stringify(shown))
}
