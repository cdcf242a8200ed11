/** The program of the page: it hydrates with a client that has everything already. */
import { createClient } from '@hermod/client'
import { hydrateRoot } from 'react-dom/client'
import { renderedPage } from './rendered-page.js'

const { peer, token, ...options } = JSON.parse(document.body.dataset.options ?? '')
const client = createClient({ ...options, token: () => token })
await client.connect()
const { messages } = client.direct(peer)
await new Promise<void>((resolve) => {
  messages.subscribe(() => {
    if (messages.getSnapshot().messages.length > 0) resolve()
  })
})
hydrateRoot(document.querySelector('main') as HTMLElement, renderedPage(client, peer), {
  onRecoverableError: (error) => {
    document.title += String(error)
  },
})
