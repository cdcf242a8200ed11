import { createClient } from '@hermod/client'
import { HermodProvider } from '@hermod/client/react'
import { type ReactNode, useEffect, useState } from 'react'
import { type DemoUser, serviceUrl } from '../session.js'
import { Chat } from './chat.js'

interface SideProps {
  readonly user: DemoUser
  readonly appId: string
  /** Narrow windows show one side only. */
  readonly isShown: boolean
  /** Shown above the chat. */
  readonly children?: ReactNode
}

/** The chat of one user. An app has one client for its whole life; this page has one for each side. */
export function Side({ user, appId, isShown, children }: SideProps) {
  const [client] = useState(() =>
    createClient({
      url: serviceUrl(user),
      appId,
      userId: user.userId,
      deviceGuid: `demo-${user.userId}`,
      token: () => user.token,
    }),
  )
  useEffect(() => {
    // The header shows why there is no connection.
    client.connect().catch(() => {})
    return () => client.disconnect()
  }, [client])
  return (
    <HermodProvider client={client}>
      <section className="side" aria-label={user.name} data-shown={isShown}>
        {children}
        <Chat name={user.name} />
      </section>
    </HermodProvider>
  )
}
