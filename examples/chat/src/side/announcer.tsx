import { useClient } from '@hermod/client/react'
import { useEffect, useState } from 'react'

/** Lets screen readers speak new messages of others. */
export function Announcer() {
  const client = useClient()
  const [text, setText] = useState('')
  useEffect(
    () =>
      client.on('message.stored', (message) => {
        if (message.sender_id === client.userId || message.is_system) return
        const sender = client.user(message.sender_id).getSnapshot()?.name ?? 'New message'
        setText(`${sender}: ${message.content || 'a file'}`)
      }),
    [client],
  )
  return (
    <p className="visually-hidden" aria-live="polite">
      {text}
    </p>
  )
}
