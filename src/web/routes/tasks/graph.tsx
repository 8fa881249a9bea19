/** What waits for what: tasks in layers, the longest open chain marked; below it the same as text. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { EmptyState, NoMatch, ProblemBox, Waiting } from '../../components/states.tsx'
import { words as common, statusNames } from '../../words.ts'
import { type GraphLayout, type GraphNode, layoutGraph } from './graph-layout.ts'
import { graphQuery } from './queries.ts'
import { isUnfiltered, type TaskSearch } from './search.ts'
import { words } from './words.ts'

interface Props {
  project: { id: string; slug: string }
  search: TaskSearch
  onOpen(key: string): void
  onClear(): void
  onTotal(total: number | undefined): void
}

const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [190, 48, 56, 14]
const at = (layer: number, row: number) => ({ x: 16 + layer * (WIDTH + GAP_X), y: 16 + row * (HEIGHT + GAP_Y) })

export default function GraphView({ project, search, onOpen, onClear, onTotal }: Props) {
  const { data, error } = useQuery(graphQuery(project.id, project.slug, search))
  const layout = useMemo(() => data && layoutGraph(data), [data])
  const matching = layout?.layers.flat().filter(isWanted).length
  useEffect(() => onTotal(matching), [onTotal, matching])
  if (error && !data) return <ProblemBox error={error} />
  if (!layout) return <Waiting />
  if (layout.layers.length === 0 && !isUnfiltered(search))
    return (
      <div className="querywrap">
        <NoMatch clear={common.clearFilters} onClear={onClear}>
          {words.graph.noMatch}
        </NoMatch>
      </div>
    )
  if (layout.layers.length === 0)
    return (
      <div className="scroll">
        <EmptyState title={words.graph.emptyTitle}>
          <p className="soft">{words.graph.emptyText}</p>
        </EmptyState>
      </div>
    )
  return (
    <div className="scroll graphpage" tabIndex={-1}>
      {layout.chain.length > 0 && (
        <p className="graphchain">{words.graph.chain(keysOf(layout), !isUnfiltered(search))}</p>
      )}
      {data?.complete === false && <p className="soft">{words.graph.more}</p>}
      <Drawing layout={layout} open={search.open} onOpen={onOpen} />
      <AsText layout={layout} />
    </div>
  )
}

/** Whether the filters let it through; the others are there because it is tied to them. */
const isWanted = ({ matches }: GraphNode): boolean => matches !== false

const keysOf = ({ layers, chain }: GraphLayout): string[] => {
  const keys = new Map(layers.flat().map(({ id, key }) => [id, key]))
  return chain.map((id) => keys.get(id) ?? '')
}

function Drawing({
  layout,
  open,
  onOpen,
}: {
  layout: GraphLayout
  open: string | undefined
  onOpen(key: string): void
}) {
  const { layers, edges, chain } = layout
  const places = new Map(layers.flatMap((layer, x) => layer.map(({ id }, y) => [id, at(x, y)] as const)))
  const hot = new Set(chain.slice(1).map((id, place) => `${chain[place]} ${id}`))
  const width = at(layers.length, 0).x
  const height = Math.max(...layers.map((layer) => at(0, layer.length).y)) + 8
  return (
    <div className="graph">
      <svg width={width} height={height} role="group" aria-label={words.graph.name(places.size)}>
        {edges.map(({ from, to }) => {
          const [a, b] = [places.get(from), places.get(to)]
          if (!a || !b) return null
          const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2]
          const bend = Math.max(24, (x2 - x1) / 2)
          return (
            <path
              key={`${from} ${to}`}
              className={hot.has(`${from} ${to}`) ? 'edge hot' : 'edge'}
              d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
            />
          )
        })}
        {layers.flatMap((layer) =>
          layer.map((node) => {
            const place = places.get(node.id)
            if (!place) return null
            return (
              <foreignObject key={node.id} x={place.x} y={place.y} width={WIDTH} height={HEIGHT}>
                <NodeCard node={node} hot={chain.includes(node.id)} open={node.key === open} onOpen={onOpen} />
              </foreignObject>
            )
          }),
        )}
      </svg>
    </div>
  )
}

const NodeCard = ({
  node,
  hot,
  open,
  onOpen,
}: {
  node: GraphNode
  hot: boolean
  open: boolean
  onOpen(key: string): void
}) => (
  <button
    type="button"
    className={['gnode', hot && 'hot', open && 'sel', node.status === 'done' && 'done', !isWanted(node) && 'soft']
      .filter(Boolean)
      .join(' ')}
    onClick={() => onOpen(node.key)}
  >
    <span className="row tight">
      <StatusGlyph status={node.status} name={statusNames[node.status]} />
      <span className="key">{node.key}</span>
    </span>
    <span className="cut t12">{node.title}</span>
    {!isWanted(node) && <span className="hide">{words.graph.beside}</span>}
  </button>
)

function AsText({ layout: { layers, edges } }: { layout: GraphLayout }) {
  const nodes = layers.flat()
  const keys = new Map(nodes.map(({ id, key }) => [id, key]))
  return (
    <details className="graphtext">
      <summary>{words.graph.asText}</summary>
      <ul>
        {nodes.map((node) => {
          const { id, key, title, status } = node
          const waits = edges.flatMap(({ from, to }) => (to === id ? [keys.get(from) ?? ''] : [])).filter(Boolean)
          return (
            <li key={id}>
              {words.graph.line(key, title, statusNames[status])}
              {waits.length > 0 && ` ${words.graph.waits(waits)}`}
              {!isWanted(node) && ` ${words.graph.beside}`}
            </li>
          )
        })}
      </ul>
    </details>
  )
}
