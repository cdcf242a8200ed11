import type { ClientEvents, Conversation } from '@hermod/client'
import { useClient } from '@hermod/client/react'
import { useEffect, useState } from 'react'

type Activity = ClientEvents['activity']

const shownMs = 6_000

/** Returns what a bot does in the conversation; undefined: nothing, or it has ended without a word. */
export function useActivity({ kind, id }: Conversation): Activity | undefined {
  const client = useClient()
  const [activity, setActivity] = useState<Activity>()
  useEffect(
    () =>
      client.on('activity', (event) => {
        const { conversation, state } = event
        if (conversation.kind === kind && conversation.id === id)
          setActivity(state === '' ? undefined : event)
      }),
    [client, kind, id],
  )
  useEffect(() => {
    if (activity === undefined) return
    const timer = setTimeout(() => setActivity(undefined), shownMs)
    return () => clearTimeout(timer)
  }, [activity])
  return activity
}
