"""What a search written with torch does per step: automatic Jacobian, singular values, backward;
and the Adam search made of it. Same model as the joint block of include/tightlip/jacobian.h."""
import math
import time

import numpy
import torch

try:
    import functorch
except ImportError:
    functorch = None

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def softmax_map(x, log_mass, A):
    """Outputs at the atoms (value matrix the identity) when all copies of an atom move together."""
    return torch.softmax(x @ A.T @ x.T + log_mass, dim=1) @ x


def logsumexp_map(x, log_mass, A):
    """The same; torch batches the second derivative of this one better."""
    logits = x @ A.T @ x.T + log_mass
    return (logits - torch.logsumexp(logits, 1, keepdim=True)).exp() @ x


def autograd_jacobian(f, x):
    return torch.autograd.functional.jacobian(f, x, create_graph=True, vectorize=True)


def log_norm_by(outputs, jacobian):
    """x, log_mass, A -> log of the top singular value of sqrt(a_k / a_l) dF_k / dx_l."""
    def log_norm(x, log_mass, A):
        m, d = x.shape
        weight = torch.exp(0.5 * (log_mass[:, None] - log_mass[None, :]))
        block = jacobian(lambda y: outputs(y, log_mass, A), x) * weight[:, None, :, None]
        return torch.linalg.svdvals(block.reshape(m * d, m * d))[0].log()
    return log_norm


# Which is fastest depends on the size; the fastest is the one to beat.
FORMS = {"logsumexp, autograd.functional": log_norm_by(logsumexp_map, autograd_jacobian),
         "softmax, autograd.functional": log_norm_by(softmax_map, autograd_jacobian)}
if functorch:
    FORMS["softmax, functorch.jacfwd"] = log_norm_by(
        softmax_map, lambda f, x: functorch.jacfwd(f)(x))
    FORMS["softmax, functorch.jacrev"] = log_norm_by(
        softmax_map, lambda f, x: functorch.jacrev(f)(x))


def tensors(point, m, d):
    shapes = (("x", (m, d)), ("log_mass", (m,)), ("A", (d, d)))
    return [torch.tensor(point[name]).reshape(shape).requires_grad_() for name, shape in shapes]


def evaluate(form, leaves):
    """Value and gradients."""
    for leaf in leaves:
        leaf.grad = None
    value = FORMS[form](*leaves)
    value.backward()
    return value.item()


def seconds(form, leaves):
    start = time.process_time()
    evaluate(form, leaves)
    return time.process_time() - start


def fastest(point, m, d):
    """Processor seconds of every form, best first; one call is enough for a form far behind."""
    leaves, times = tensors(point, m, d), {}
    for form in FORMS:
        evaluate(form, leaves)
        times[form] = seconds(form, leaves)
        if times[form] < 4 * min(times.values()):
            times[form] = min([times[form]] + [seconds(form, leaves) for _ in range(6)])
    return dict(sorted(times.items(), key=lambda item: item[1]))


def differences(form, points, m, d):
    """Largest relative difference of value and of gradients from what the points carry."""
    value = gradient = 0.0
    for point in points:
        leaves = tensors(point, m, d)
        value = max(value, abs(math.expm1(evaluate(form, leaves) - point["log_value"])))
        for leaf, name in zip(leaves, ("gx", "ga", "gA")):
            ours = numpy.array(point[name])
            theirs = leaf.grad.numpy().ravel()
            size = numpy.linalg.norm(theirs)
            gradient = max(gradient, numpy.linalg.norm(ours - theirs) / size)
    return value, gradient


class Walk:
    """Times evaluations along the points, in processor seconds each."""

    def __init__(self, form, points, m, d):
        self.form = form
        self.leaves = [tensors(point, m, d) for point in points]

    def __call__(self):
        return sum(seconds(self.form, leaves) for leaves in self.leaves) / len(self.leaves)


def project(x, z, A, radius, n):
    """Tokens into the ball, masses to sum one with at least one token each, ||A|| to one."""
    with torch.no_grad():
        x *= torch.clamp(radius / x.norm(dim=1, keepdim=True), max=1.0)
        z.copy_(torch.log_softmax(z, 0).clamp(min=-math.log(n)))
        z.copy_(torch.log_softmax(z, 0))
        A /= torch.clamp(torch.linalg.matrix_norm(A, 2), min=1.0)


def adam_search(form, target, seed, atoms, d, radius, n, steps, rate, cap):
    """Restarts of Adam from random tokens and masses until target or `cap` processor seconds."""
    generator = torch.Generator().manual_seed(seed)
    start, best, evaluations, restarts = time.process_time(), 0.0, 0, 0
    while best < target and time.process_time() - start < cap:
        restarts += 1
        x = torch.randn(atoms, d, generator=generator)
        x *= radius / x.norm(dim=1, keepdim=True)
        z = -math.log(n) * torch.rand(atoms, generator=generator)
        A = torch.randn(d, d, generator=generator)
        project(x, z, A, radius, n)
        leaves = [t.requires_grad_() for t in (x, z, A)]
        optimiser = torch.optim.Adam(leaves, lr=rate)
        for _ in range(steps):
            optimiser.zero_grad()
            value = FORMS[form](x, torch.log_softmax(z, 0), A)
            evaluations += 1
            best = max(best, math.exp(value.item()))
            if best >= target or time.process_time() - start >= cap:
                break
            (-value).backward()
            optimiser.step()
            project(x, z, A, radius, n)
    return {"seconds": time.process_time() - start, "evaluations": evaluations,
            "restarts": restarts, "value": best, "reached": best >= target}
