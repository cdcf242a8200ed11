/** Starts the page: reads who the two users are, and shows both. */
import { createRoot } from 'react-dom/client'
import { Page } from './page/page.js'
import { readSession } from './session.js'

const root = createRoot(document.getElementById('root') as HTMLElement)
readSession().then(
  (session) => root.render(<Page session={session} />),
  (error: Error) => root.render(<p className="fatal">The demo cannot start: {error.message}</p>),
)
