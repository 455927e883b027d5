import Alamofire
import Foundation

public struct Article: Codable, Sendable, Equatable {
    public let id: Int
    public let title: String
    public let tags: [String]?
}

public struct Profile: Codable, Sendable, Equatable {
    public var name: String
    public var email: String?
    public var age: Int

    public init(name: String, email: String? = nil, age: Int) {
        self.name = name
        self.email = email
        self.age = age
    }
}

public struct Page<Element: Decodable & Sendable>: Decodable, Sendable {
    public let items: [Element]
    public let next: URL?
}

/// The error model of our server.
public struct Problem: Decodable, Error, Sendable, Equatable {
    public let error: String
    public let path: String?

    public init(error: String, path: String? = nil) {
        self.error = error
        self.path = path
    }
}

/// What our server says that it was sent.
public struct Echo: Decodable, Sendable {
    public let method: String
    public let headers: [String: String]
    public let args: [String: String]
    public let form: [String: String]
    public let data: String
}
