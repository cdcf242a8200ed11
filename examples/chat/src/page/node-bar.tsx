import type { Nodes } from './use-nodes.js'

interface NodeBarProps {
  readonly side: number
  readonly nodes: Nodes
}

/** The node of a side, a button that kills it, and one for each node that can be started again. */
export function NodeBar({ side, nodes: { nodes, sides, kill, start } }: NodeBarProps) {
  const node = sides[side] ?? null
  const stopped = nodes.flatMap((state, index) => (state === 'running' ? [] : [{ state, index }]))
  return (
    <div className="node-bar">
      <p role="status">{node === null ? 'On no node' : `On node ${node + 1}`}</p>
      {stopped.map(({ state, index }) => (
        <button
          key={index}
          type="button"
          className="button"
          aria-disabled={state === 'starting'}
          onClick={() => start(index)}
        >
          {state === 'starting' ? `Node ${index + 1} starts …` : `Start node ${index + 1}`}
        </button>
      ))}
      {/* Keeps the focus while the side has no node. */}
      <button
        type="button"
        className="button kill"
        aria-disabled={node === null}
        onClick={() => node !== null && kill(node)}
      >
        {node === null ? 'Kill node' : `Kill node ${node + 1}`}
      </button>
    </div>
  )
}
