import { useEffect, useState } from 'react'

type NodeState = 'starting' | 'running' | 'stopped'

/** The nodes of the service, as `hermod demo --cluster` tells them. */
interface NodesState {
  readonly nodes: readonly NodeState[]
  /** The index of the node that each side is connected to; null: none. */
  readonly sides: readonly (number | null)[]
}

/** The state of the nodes, and what the page does with them. */
export interface Nodes extends NodesState {
  kill(node: number): void
  start(node: number): void
}

const everyMs = 500

/** Reads the nodes again and again. @returns undefined: not read yet, or one process only */
export function useNodes(isWanted: boolean): Nodes | undefined {
  const [state, setState] = useState<NodesState>()
  useEffect(() => {
    if (!isWanted) return
    const read = () => ask('demo/nodes', 'GET').then(setState, () => {})
    void read()
    const timer = setInterval(read, everyMs)
    return () => clearInterval(timer)
  }, [isWanted])
  const order = (node: number, command: 'kill' | 'start') => {
    ask(`demo/nodes/${node}/${command}`, 'POST').then(setState, () => {})
  }
  return (
    state && {
      ...state,
      kill: (node) => order(node, 'kill'),
      start: (node) => order(node, 'start'),
    }
  )
}

async function ask(path: string, method: 'GET' | 'POST'): Promise<NodesState> {
  const response = await fetch(path, { method })
  if (!response.ok) throw new Error(`the demo answered ${response.status}`)
  return response.json()
}
