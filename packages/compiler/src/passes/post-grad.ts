// The program's own passes on graphs in primitives, when gradients are made and what is computed again is decided: before our passes
// there, and after them.
import type { Form, Stage } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import { contextFor, passed } from './graph-pass.ts';

type LateStage = Stage<Graph, Graph, { readonly config: Config }>;

const latePassStage = (
  form: Form<Graph>,
  { name, doc, setting }: { name: string; doc: string; setting: 'postGradCustomPrePass' | 'postGradCustomPostPass' },
): LateStage => ({
  name,
  doc,
  makes: form,
  run: (graph, { config }) => {
    const hook = config.usePostGradPasses ? config[setting] : null;
    if (hook === null) return graph;
    return passed(graph, hook, { setting, context: contextFor('simplified', graph, config.patternMatcher) });
  },
});

export const postGradPrePass = (form: Form<Graph>): LateStage =>
  latePassStage(form, {
    name: 'post-grad-pre-pass',
    doc: 'the pass of the setting postGradCustomPrePass',
    setting: 'postGradCustomPrePass',
  });

export const postGradPostPass = (form: Form<Graph>): LateStage =>
  latePassStage(form, {
    name: 'post-grad-post-pass',
    doc: 'the pass of the setting postGradCustomPostPass',
    setting: 'postGradCustomPostPass',
  });
