//! The thirteen axes (2.2): which nodes, in the order in which `position()` counts them.

use std::ops::ControlFlow;

use super::ast::Axis;
use super::value::NodeRef;
use crate::tree::{Kind, Node, Tree};

/// Calls `visit` with each node of the axis until it breaks.
pub(super) fn walk<B>(
    tree: &Tree<'_>,
    from: NodeRef,
    axis: Axis,
    visit: &mut impl FnMut(NodeRef) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let node = from.node();
    match axis {
        Axis::Self_ => visit(from),
        Axis::Parent => from.parent(tree).map_or(ControlFlow::Continue(()), visit),
        Axis::Ancestor => ancestors(tree, from.parent(tree), visit),
        Axis::AncestorOrSelf => ancestors(tree, Some(from), visit),
        _ if from.is_namespace() => match axis {
            Axis::DescendantOrSelf => visit(from),
            Axis::Following => following(tree, node.index() + 1, visit),
            Axis::Preceding => preceding(tree, node, visit),
            _ => ControlFlow::Continue(()),
        },
        Axis::Child => tree.children(node).try_for_each(|child| visit(child.into())),
        Axis::Attribute => tree.attributes(node).try_for_each(|one| visit(one.into())),
        Axis::Namespace => namespaces(tree, node, visit),
        Axis::DescendantOrSelf => {
            visit(from)?;
            descendants(tree, node, visit)
        }
        Axis::Descendant => descendants(tree, node, visit),
        Axis::FollowingSibling => {
            std::iter::successors(tree.next_sibling(node), |one| tree.next_sibling(*one))
                .try_for_each(|one| visit(one.into()))
        }
        Axis::PrecedingSibling => {
            if tree.kind(node) == Kind::Attribute {
                return ControlFlow::Continue(());
            }
            let siblings = tree.parent(node).map(|parent| tree.children(parent));
            let before: Vec<Node> =
                siblings.into_iter().flatten().take_while(|one| *one < node).collect();
            before.into_iter().rev().try_for_each(|one| visit(one.into()))
        }
        // Descendants do not follow. An attribute has none, and is followed by what its element has.
        Axis::Following => following(tree, tree.end(node).index(), visit),
        Axis::Preceding => preceding(tree, node, visit),
    }
}

/// Whether a record of the tree is a node on the axes of children.
fn is_child(tree: &Tree<'_>, node: Node) -> bool {
    !matches!(tree.kind(node), Kind::Attribute | Kind::Namespace)
}

fn descendants<B>(
    tree: &Tree<'_>,
    node: Node,
    visit: &mut impl FnMut(NodeRef) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let all = tree.subtree(node).skip(1).filter(|one| is_child(tree, *one));
    all.into_iter().try_for_each(|one| visit(one.into()))
}

fn ancestors<B>(
    tree: &Tree<'_>,
    first: Option<NodeRef>,
    visit: &mut impl FnMut(NodeRef) -> ControlFlow<B>,
) -> ControlFlow<B> {
    std::iter::successors(first, |one| one.parent(tree)).try_for_each(visit)
}

/// All nodes from this place on.
fn following<B>(
    tree: &Tree<'_>,
    place: usize,
    visit: &mut impl FnMut(NodeRef) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let all = tree.subtree(Node::DOCUMENT).skip(place).filter(|one| is_child(tree, *one));
    all.into_iter().try_for_each(|one| visit(one.into()))
}

/// All nodes that end before this one begins: not its ancestors.
fn preceding<B>(
    tree: &Tree<'_>,
    node: Node,
    visit: &mut impl FnMut(NodeRef) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let before = tree.subtree(Node::DOCUMENT).take(node.index()).rev();
    before
        .filter(|one| is_child(tree, *one) && tree.end(*one) <= node)
        .try_for_each(|one| visit(one.into()))
}

/// Those in scope: each prefix by its innermost declaration, if that does not undeclare it, and `xml`.
fn namespaces<B>(
    tree: &Tree<'_>,
    element: Node,
    visit: &mut impl FnMut(NodeRef) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if tree.kind(element) != Kind::Element {
        return ControlFlow::Continue(());
    }
    let (mut seen, mut all) = (Vec::new(), vec![NodeRef::namespace(element, None)]);
    for ancestor in std::iter::successors(Some(element), |one| tree.parent(*one)) {
        for declaration in tree.namespaces(ancestor) {
            let prefix = tree.name(declaration).local;
            if prefix == "xml" || seen.contains(&prefix) {
                continue;
            }
            seen.push(prefix);
            if !tree.value(declaration).is_empty() {
                all.push(NodeRef::namespace(element, Some(declaration)));
            }
        }
    }
    all.sort();
    all.into_iter().try_for_each(visit)
}
