"""A gRPC server for the tests: `orders.py PORT DESCRIPTORS LOG`.

Writes its descriptor set to DESCRIPTORS, then serves shop.Orders with reflection and appends a line to LOG for each call.
Needs grpcio and grpcio-reflection; the messages are described here, so that no protoc is needed.
"""

import concurrent.futures
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_reflection.v1alpha import reflection

port, descriptors, log = sys.argv[1:]
field = descriptor_pb2.FieldDescriptorProto

# Two files, so that reflection has something to follow.
things = descriptor_pb2.FileDescriptorProto(name="things.proto", package="shop", syntax="proto3")
order = things.message_type.add(name="Order")
order.field.add(name="item", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
order.field.add(name="count", number=2, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL)
receipt = things.message_type.add(name="Receipt")
receipt.field.add(name="number", number=1, type=field.TYPE_INT64, label=field.LABEL_OPTIONAL)
receipt.field.add(name="item_text", json_name="itemText", number=2, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
orders = descriptor_pb2.FileDescriptorProto(name="orders.proto", package="shop", syntax="proto3")
orders.dependency.append("things.proto")
service = orders.service.add(name="Orders")
service.method.add(name="Place", input_type=".shop.Order", output_type=".shop.Receipt")
service.method.add(name="Watch", input_type=".shop.Order", output_type=".shop.Receipt", server_streaming=True)
with open(descriptors, "wb") as out:
    out.write(descriptor_pb2.FileDescriptorSet(file=[things, orders]).SerializeToString())

pool = descriptor_pool.Default()
pool.Add(things)
pool.Add(orders)
Order = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
Receipt = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Receipt"))
book = open(log, "a", buffering=1)


def place(asked, context):
    book.write(f"{asked.item} {asked.count}\n")
    if asked.count < 0:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "fewer than none, é")
    return Receipt(number=asked.count * 10, item_text=asked.item)


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method != "/shop.Orders/Place":
            return None
        return grpc.unary_unary_rpc_method_handler(place, Order.FromString, Receipt.SerializeToString)


server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers([Handler()])
reflection.enable_server_reflection(["shop.Orders", reflection.SERVICE_NAME], server)
server.add_insecure_port(f"127.0.0.1:{port}")
server.start()
server.wait_for_termination()
