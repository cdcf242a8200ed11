import { useClient } from '@hermod/client/react'
import { useEffect, useState } from 'react'

/** Lets screen readers speak new messages of others. */
export function Announcer() {
  const client = useClient()
  const [text, setText] = useState('')
  useEffect(
    () =>
      client.onMessage((message) => {
        if (message.isSystem) return
        const sender = client.user(message.senderId).getSnapshot()?.name ?? 'New message'
        const what =
          message.stream?.state === 'open' ? 'writes an answer' : message.text || 'a file'
        setText(`${sender}: ${what}`)
      }),
    [client],
  )
  return (
    <p className="visually-hidden" aria-live="polite">
      {text}
    </p>
  )
}
