/** Starts the page: reads who the two users are, and shows both. */
import { createRoot } from 'react-dom/client'
import { forgetEarlierDemos } from './page/forget-earlier-demos.js'
import { Page } from './page/page.js'
import { readSession } from './session.js'

const root = createRoot(document.getElementById('root') as HTMLElement)
try {
  const session = await readSession()
  root.render(<Page session={session} />)
  // A browser that does not list its databases keeps them.
  void forgetEarlierDemos(session).catch(() => {})
} catch (error) {
  root.render(<p className="fatal">The demo cannot start: {(error as Error).message}</p>)
}
